"""The lines of the corpus, filled with made-up secrets, in the shapes that transcripts of agents have."""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
_RANDOM = random.Random(11)
_WORDS = (
    "correcthorsebattery",
    "swordfishsoup",
    "blaubeerkuchen",
    "tangerineriver",
    "winterpalace",
    "opensesameplease",
)
_ODD = ("aK(9;z,Q!2x", "p#7w&Qz!mm4", "Tr0ub4dor&3;", "x9!kL,(vv)T2", "gH7$kk^2!pQ", "m=8Zt/+w,Q4(")


def _choose(alphabet: str, length: int) -> str:
    return "".join(_RANDOM.choice(alphabet) for _ in range(length))


_ALNUM = string.ascii_letters + string.digits
FILLERS: dict[str, Callable[[], str]] = {
    "word": lambda: _RANDOM.choice(_WORDS),
    "mixed": lambda: (
        _choose(string.ascii_letters, 5)
        + _choose(string.digits, 2)
        + _choose(string.ascii_lowercase, 3)
        + "7Q"
    ),
    "odd": lambda: _RANDOM.choice(_ODD),
    "odd2": lambda: _RANDOM.choice(("p#7wQz!mm4", "Tr0ub4dor3!", "x9!kL(vv)T2")),
    "odd3": lambda: _RANDOM.choice(("p!7wQzmm4", "Tr0ub4dor-3", "x9.kLvvT2_")),
    "token": lambda: _choose(_ALNUM, 38) + "7q",
    "token26": lambda: _choose(_ALNUM, 24) + "7q",
    "hex": lambda: _choose("0123456789abcdef", 38) + "7d",
    "base64": lambda: base64.b64encode(_RANDOM.randbytes(32)).decode(),
    "aws": lambda: _choose(_ALNUM + "/+", 38) + "7q",
    "long": lambda: _choose(_ALNUM, 298) + "7q",
    "uuid": lambda: "-".join(_choose("0123456789abcdef", n) for n in (8, 4, 4, 4, 12)),
    "basic": lambda: base64.b64encode(b"ann:" + _choose(_ALNUM, 15).encode()).decode(),
    "sig": lambda: _choose(_ALNUM, 40) + "%2Bq7%3D",
    "jwtish": lambda: _choose(_ALNUM, 30) + "." + _choose(_ALNUM, 30) + "7q",
    "totp": lambda: _choose("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32),
}
SHAPES: dict[str, Callable[[str], str]] = {
    "plain": lambda line: line,
    "read with numbers": lambda line: f"     1→first\n    12→{line}\n    13→last",
    "difference": lambda line: f"@@ -1,2 +1,3 @@\n context\n+{line}\n-old",
    "tool result in JSON": lambda line: json.dumps(
        {"type": "tool_result", "content": f"first\n{line}\nlast"}
    ),
    "numbers in JSON": lambda line: json.dumps(
        {"content": f"     1→first\n    12→{line}\n"}, ensure_ascii=False
    ),
}


@dataclass(frozen=True)
class CorpusLine:
    template: str
    line: str
    secrets: tuple[str, ...] = ()

    def shapes(self) -> Iterator[tuple[str, str]]:
        for name, shape in SHAPES.items():
            yield name, shape(self.line)


def _read_lines(name: str) -> Iterator[str]:
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("# "):
            yield line


def read_secret_lines(name: str = "secret_lines.txt") -> list[CorpusLine]:
    return [_fill(template) for template in _read_lines(name)]


def read_innocent_lines(name: str = "innocent_lines.txt") -> list[CorpusLine]:
    return [CorpusLine(line, line) for line in _read_lines(name)]


def _fill(template: str) -> CorpusLine:
    line, secrets = template, []
    for name, make in FILLERS.items():
        while f"{{{name}}}" in line:
            value = make()
            secrets.append(value)
            line = line.replace(f"{{{name}}}", value, 1)
    return CorpusLine(template, line, tuple(secrets))


def is_masked(masked: str, line: CorpusLine) -> bool:
    """No secret of the line is left, in plain or in JSON."""
    return not any(secret in masked or json.dumps(secret)[1:-1] in masked for secret in line.secrets)
