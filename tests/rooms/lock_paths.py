"""The paths of the machine that tests locks, and what they mean to each other, written down by hand."""

X, Y, Z, C = "a/x.py", "a/y.md", "a/b/z.py", "c.py"
# What each path means: the oracle knows nothing of patterns.
MEANS = {
    X: {X},
    Y: {Y},
    Z: {Z},
    C: {C},
    "a/": {X, Y, Z},
    "a/b/": {Z},
    "a/*.py": {X},
    "**/*.py": {X, Z, C},
    "./": {X, Y, Z, C},
}
FILES = list(MEANS)
# Regions of c.py: lines that nobody says the version of, symbols, lines of two versions, and lines that are only added.
OLD, NEW = "@a0a0a0a0a0a0", "@b1b1b1b1b1b1"
L1, L2, L3 = "c.py:1-3", "c.py:5-9", "c.py:3-6"
S1, S2, S3 = "c.py#Cart", "c.py#Cart.total", "c.py#Tax"
B1, B2, B3 = f"c.py:1-3{OLD}", f"c.py:5-9{OLD}", f"c.py:4~{OLD}"
D1, A1 = f"c.py:1-3{NEW}", f"c.py:12+{OLD}%0c0c0c0c"
REGIONS = [L1, L2, L3, S1, S2, S3, B1, B2, B3, D1, A1]
# Which of them, and only these, may be held by two sessions at once.
APART = {
    frozenset(pair)
    for pair in ((L1, L2), (S1, S3), (S2, S3), (B1, B2), (B1, B3), (A1, B1), (A1, B2), (A1, B3), (A1,))
}
# What a session has when regions of one version become one, and what each region contains.
B12, B13 = f"c.py:1-3,5-9{OLD}", f"c.py:1-3,4~{OLD}"
JOINED = {
    frozenset({B1, B2}): B12,
    frozenset({B1, B3}): B13,
    frozenset({B2, B3}): B2,
    frozenset({B12, B3}): B12,
    frozenset({B13, B2}): B12,
    frozenset({B12, B13}): B12,
    frozenset({B12, B2}): B12,
    frozenset({B12, B1}): B12,
    frozenset({B13, B1}): B13,
    frozenset({B13, B3}): B13,
}
PARTS = {B12: [B1, B2], B13: [B1, B3]}
INSIDE = {C: [*REGIONS, B12, B13], S1: [S2], B2: [B3], B12: [B1, B2, B3, B13], B13: [B1, B3]}
# What a path without a version means to somebody who releases it.
NAMED = {C: [C, *REGIONS, B12, B13], L1: [L1, B1, D1], L2: [L2, B2]}
SHOWN = {path: path.partition("@")[0].replace("4~", "4+") for path in [*REGIONS, B12, B13]}
MEANS |= {path: {C} for path in [*REGIONS, B12, B13]}
# What a path covers besides itself, as somebody needs to know who waits for a part of what it has locked.
COVERED = {
    "a/": [X, Y, Z, "a/b/", "a/*.py"],
    "a/b/": [Z],
    "a/*.py": [X],
    "**/*.py": [X, Z, C, *REGIONS],
    "./": [*FILES, *REGIONS],
    **INSIDE,
}


def paths_meet(a: str, b: str) -> bool:
    if not MEANS[a] & MEANS[b]:
        return False
    pairs = (frozenset({one, other}) for one in PARTS.get(a, [a]) for other in PARTS.get(b, [b]))
    return not all(pair in APART for pair in pairs)


def shown_file(path: str) -> str:
    return C if path in SHOWN else path


def shown_name(path: str) -> str:
    return SHOWN.get(path, path)


def covers_path(path: str, other: str) -> bool:
    return path == other or other in COVERED.get(path, [])
