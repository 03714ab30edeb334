"""Cookies that name a session: the value of each cookie in a header, or in a command's `-b`, that looks random."""

import re
from collections.abc import Iterator

from commonplace.masking.placeholders import looks_random, stands_for_a_secret

SIGN = r"(?i:cookie|\s-b\s)"
_COOKIES = re.compile(
    r"(?i)(?:(?:\b|(?<=\\n))(?:set-)?cookie(?:\\{0,7}[\"'])?\s?:\s?|\s-b\s)(?:\\{0,7}[\"'])?(?P<pairs>[^\n\"'\\]{4,8000})"
)
_PAIR = re.compile(r"[\w.\-]{1,100}=(?P<secret>[^;\s,]{12,4096})")


def find_cookies(text: str) -> Iterator[tuple[int, int]]:
    """Where the secret values stand."""
    for cookies in _COOKIES.finditer(text):
        for pair in _PAIR.finditer(text, *cookies.span("pairs")):
            if looks_random(pair["secret"]) and not stands_for_a_secret(pair["secret"]):
                yield pair.span("secret")
