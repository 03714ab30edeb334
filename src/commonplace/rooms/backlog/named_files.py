"""The files that a backlog item names in its title and description; a claim shows them to others who lock them."""

import re
from collections.abc import Iterable

_MAX_NAMED_FILES = 20
_TOKEN = re.compile(r"(?<![\w/.:@-])(?:[\w.@+-]+/)*[\w.@+-]*[\w@+-]/?(?![\w/\[*])")
# A name without a directory is a file only with a suffix like these: `example.com` and `v1.2` are none.
_SUFFIXES = frozenset(
    [
        "c",
        "cc",
        "cfg",
        "cpp",
        "cs",
        "css",
        "go",
        "h",
        "hpp",
        "html",
        "ini",
        "java",
        "js",
        "json",
        "jsx",
        "kt",
        "lock",
        "lua",
        "md",
        "mjs",
        "php",
        "proto",
        "py",
        "rb",
        "rs",
        "rst",
        "scala",
        "scss",
        "sh",
        "sql",
        "svelte",
        "swift",
        "tf",
        "toml",
        "ts",
        "tsx",
        "txt",
        "vue",
        "xml",
        "yaml",
        "yml",
        "zig",
    ]
)


def extract_named_files(*texts: str) -> list[str]:
    """Paths such as `src/cart.py`, `src/tax/` or `Makefile.toml`, in the order of the texts."""
    tokens = [token for text in texts for token in _TOKEN.findall(text)]
    paths = list(dict.fromkeys(token for token in tokens if _is_path(token)))
    # `cart.py` beside `src/cart.py` is the same file.
    return [path for path in paths if not any(other.endswith(f"/{path}") for other in paths)][
        :_MAX_NAMED_FILES
    ]


def is_bare_name(path: str) -> bool:
    """Is it a file without its directory?"""
    return "/" not in path


def find_path_of_name(name: str, known_paths: Iterable[str]) -> str:
    """The only known path of a file with this name, else an empty text."""
    matches = {path for path in known_paths if path == name or path.endswith(f"/{name}")}
    return matches.pop() if len(matches) == 1 else ""


def _is_path(token: str) -> bool:
    name = token.rsplit("/", 1)[-1]
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    is_directory = token.endswith("/") and not token.startswith(".")
    return is_directory or suffix in _SUFFIXES
