"""Does a text read like instructions to a model? Every reply asks this about texts that others wrote.

A match is a hint for the reader, never a reason to refuse: filters cannot stop a poisoned memory, but a mark says where to
be careful. Patterns: `instruction_patterns.py`. RE2 matches them in one pass; hidden characters, look-alike letters and
encodings are undone first.
"""

import base64
import binascii
import html
import re
from functools import cache, lru_cache
from typing import Any
from urllib.parse import unquote

import re2

from commonplace.look_alikes import fold_to_latin
from commonplace.quoting.hidden_characters import HIDDEN_CLASS, remove_hidden_characters
from commonplace.quoting.instruction_patterns import ALL_PATTERNS, LINE_START

_MAX_CHECKED_CHARACTERS = 200_000
_MAX_REMEMBERED_CHARACTERS = 40
_MAX_ENCODED_RUNS = 8
_MIN_DECODED_CHARACTERS = 12
_RE2_MEMORY_BYTES = 64 * 1024 * 1024
# One automaton of all patterns has more states than fit into memory and builds them anew in every long reply, which
# takes seven times as long as many small ones. Short replies are alike, so that one automaton keeps their states.
_SHORT_REPLY_BYTES = 500
_SIGN_AUTOMATA = 24
_SIGN_AUTOMATON_BYTES = 4 * 1024 * 1024
# Letters that can pass for Latin ones, marks that are stacked on them, and what is not seen.
_DISGUISED = (
    "[\u0300-\u036f\u0370-\u03ff\u0400-\u052f\u0250-\u02af\u1d00-\u1dbf\u2100-\u214f\u2160-\u217f\u24b6-\u24e9"
    "\ua640-\ua69f\uab30-\uab6f\uff01-\uff5e\U0001d400-\U0001d7ff\U0001f110-\U0001f189\U0001f1e6-\U0001f1ff"
    "\u13a0-\u13ff\u0531-\u0587\u00a0\u2000-\u200d\u202f\u205f\u3000]"
)
_ENCODED_RUN = r"[A-Za-z0-9+/_-]{24,}={0,2}"
_HEX_RUN = r"(?:[0-9a-fA-F]{2}[ :]?){16,}"
_ESCAPES = r"(?:(?:\\+u|\\+x|%|&#x?)[0-9a-fA-F]{2,6};?){6,}"
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_hex_run = re.compile(_HEX_RUN)
_SPACE_OUTSIDE_CLASS = re.compile(r"(\[(?:\\.|[^\]\\])*\]|\\.)| ")
_BETWEEN_WORDS = re.compile(r"[\s*_~`\"',]+")
_JSON_SPACE = r"(?:(?:[\s*_~`\"',]|\\[nrt\"])+)"
_TAGS = re.compile("[\U000e0020-\U000e007e]+")


def is_instruction_like(text: str) -> bool:
    if len(text) < _MIN_DECODED_CHARACTERS // 2:
        return False
    if len(text) <= _MAX_REMEMBERED_CHARACTERS:
        return _is_short_text_instruction_like(text)
    text = text[:_MAX_CHECKED_CHARACTERS]
    return any(_instructions().search(variant) for variant in _list_variants(text))


@lru_cache(maxsize=4096)
def _is_short_text_instruction_like(text: str) -> bool:
    """Remembered: most texts of a reply are names of fields, types and states, the same in every reply."""
    return any(_instructions().search(variant) for variant in _list_variants(text))


def may_be_instruction_like(body: bytes) -> bool:
    """Whether a reply, as JSON, is worth a look at each of its texts: never False if one of them is instruction-like."""
    if (
        len(body) <= _SHORT_REPLY_BYTES and _signs_and_runs().search(body) is None
    ):  # most replies: one pass tells
        return False
    return any(signs.search(body) for signs in _signs()) or any(
        _decode_run(run.decode()) for run in _encoded_runs().findall(body)
    )


def prepare_patterns() -> None:
    """Compile the patterns, which takes a quarter of a second, and search once, which builds their automata.

    The server does this in a thread while it starts: else the first reply, a boot pack that a hook waits for, does.
    """
    sentence = "Run the tests before you commit; ask the owner of the key first, and do not delete anything."
    fields = (
        '"session_id":"shop_claude_3f9a07","at":"2026-01-02T03:04:05Z","count":17,"files":["src/cart.py"],'
    )
    sample = f'{{{fields}"guidelines":[],"messages":{{"unread":0}},"content":"{sentence}"}}\n'
    for count in (1, 2 * _SHORT_REPLY_BYTES // len(sample)):
        may_be_instruction_like((sample * count).encode())
    is_instruction_like(sentence)


def _list_variants(text: str) -> list[str]:
    """The text, and what it says once disguises are undone."""
    visible = text if text.isascii() else remove_hidden_characters(_TAGS.sub(_spell_tags, text))
    variants = [visible, _BETWEEN_WORDS.sub(" ", visible)]
    if not visible.isascii() and _disguises().search(visible):
        variants.append(fold_to_latin(variants[-1]))
    runs = _encoded_runs().findall(visible.encode("utf-8", "replace"))
    variants += [decoded for run in runs[:_MAX_ENCODED_RUNS] if (decoded := _decode_run(run.decode()))]
    hex_runs = _hex_run.findall(visible)
    variants += [decoded for run in hex_runs[:_MAX_ENCODED_RUNS] if (decoded := _decode_hex(run))]
    if _escapes().search(visible):
        variants.append(_join_surrogates(_ESCAPE.sub(_unescape, unquote(html.unescape(visible)))))
    return variants


def _spell_tags(match: re.Match[str]) -> str:
    return " " + "".join(chr(ord(tag) - 0xE0000) for tag in match[0])


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16))


def _join_surrogates(text: str) -> str:
    """Two escapes may stand for one character; a half that stands alone is no character at all."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _decode_run(run: str) -> str:
    """The text that a run in base64 stands for; empty if it stands for none."""
    plain = run.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        decoded = base64.b64decode(plain[: len(plain) // 4 * 4])
    except (binascii.Error, ValueError):
        return ""
    return _read_text(decoded)


def _decode_hex(run: str) -> str:
    return _read_text(bytes.fromhex(re.sub(r"[ :]", "", run)))


def _read_text(decoded: bytes) -> str:
    """The bytes as text if they are words in ASCII."""
    if len(decoded) < _MIN_DECODED_CHARACTERS or not decoded.isascii():
        return ""
    text = decoded.decode("ascii")
    return (
        text
        if " " in text and all(character.isprintable() or character.isspace() for character in text)
        else ""
    )


@cache
def _instructions() -> Any:
    return _compile("|".join(f"(?:{pattern})" for pattern in ALL_PATTERNS))


@cache
def _signs() -> list[Any]:
    patterns = _list_signs()
    return [
        _compile_bytes(patterns[first::_SIGN_AUTOMATA], _SIGN_AUTOMATON_BYTES)
        for first in range(_SIGN_AUTOMATA)
    ]


@cache
def _signs_and_runs() -> Any:
    return _compile_bytes([*_list_signs(), _ENCODED_RUN], _RE2_MEMORY_BYTES)


def _list_signs() -> list[str]:
    """The patterns for JSON, where an escape such as `\\n` may stand before a word or between two."""
    loose = [_loosen_pattern(pattern) for pattern in ALL_PATTERNS]
    return [*loose, f"(?-i:{_DISGUISED}|{HIDDEN_CLASS})", _HEX_RUN, _ESCAPES]


def _compile_bytes(patterns: list[str], memory_bytes: int) -> Any:
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re2.compile(joined.encode(), _make_options(memory_bytes))


def _loosen_pattern(pattern: str) -> str:
    return _SPACE_OUTSIDE_CLASS.sub(
        lambda match: match[1] or _JSON_SPACE, pattern.replace(r"\b", "").replace(LINE_START, "")
    )


@cache
def _encoded_runs() -> Any:
    return re2.compile(_ENCODED_RUN.encode())


@cache
def _disguises() -> Any:
    return _compile(f"(?-i:{_DISGUISED})")


@cache
def _escapes() -> Any:
    return _compile(_ESCAPES)


def _compile(pattern: str) -> Any:
    return re2.compile(pattern, _make_options())


def _make_options(memory_bytes: int = _RE2_MEMORY_BYTES) -> re2.Options:
    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = memory_bytes
    options.log_errors = False
    return options
