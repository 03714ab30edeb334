"""Secrets in text are replaced by the name of their kind: `[masked: github token]`.

The text may be plain or the inside of a JSON line, where a quote is `\\"` and a line's end is `\\n`. One pass tells which
rules to try (`_SIGNS`); each looks at a character a bounded number of times. Rules: `formats.py` (a provider's format),
`contexts.py` (the words around it), `assignments.py` (its name), `cookies.py`. No rule goes by randomness alone:
digests, commits and ids are everyday text here.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import re2

from commonplace.masking import assignments, cookies
from commonplace.masking.contexts import CONTEXTS, SecretContext
from commonplace.masking.formats import FORMATS, START
from commonplace.masking.placeholders import is_example_key, looks_random, stands_for_a_secret

MASKING_VERSION = 2
"""Raise it when the rules find more: stored transcripts that an older version masked are masked again."""

_MIN_SECRET_CHARACTERS = 6

Span = tuple[int, int, str]
"""Where a secret begins and ends, and its kind."""
FindSecrets = Callable[[str], Iterator[Span]]


@dataclass(frozen=True, slots=True)
class MaskedText:
    text: str
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self.counts)


@dataclass(frozen=True, slots=True)
class MaskingRule:
    kind: str
    sign: str
    """In every text with such a secret; where it is not found the rule need not be tried."""
    find: FindSecrets


def render_mask(_secret: str, kind: str) -> str:
    return f"[masked: {kind}]"


def mask_secrets(text: str, render: Callable[[str, str], str] = render_mask) -> MaskedText:
    """The text with each secret replaced by the name of its kind, or by what `render(secret, kind)` returns."""
    counts: Counter[str] = Counter()
    for index in sorted(_SIGNS.Match(text.encode("utf-8", "surrogatepass")) or ()):
        spans = list(RULES[index].find(text))
        if spans:
            text = _replace_spans(text, spans, render)
            counts.update(kind for _, _, kind in spans)
    return MaskedText(text, dict(counts))


def _replace_spans(text: str, spans: list[Span], render: Callable[[str, str], str]) -> str:
    parts, at = [], 0
    for start, end, kind in spans:
        parts += [text[at:start], render(text[start:end], kind)]
        at = end
    return "".join(parts) + text[at:]


def mask_arguments(
    arguments: Mapping[str, Any], verbatim: Collection[str]
) -> tuple[dict[str, Any], list[str]]:
    """The arguments with secrets masked, except those named in `verbatim`; and the kinds of secrets that there were."""
    kinds: set[str] = set()
    clean = {
        name: value if name in verbatim else _mask_value(value, kinds) for name, value in arguments.items()
    }
    return clean, sorted(kinds)


def _mask_value(value: Any, kinds: set[str]) -> Any:
    if isinstance(value, str):
        if len(value) < _MIN_SECRET_CHARACTERS:
            return value
        safe = mask_secrets(value)
        kinds.update(safe.kinds)
        return safe.text
    if isinstance(value, Mapping):
        return {_mask_value(name, kinds): _mask_field(name, item, kinds) for name, item in value.items()}
    return [_mask_value(item, kinds) for item in value] if isinstance(value, list) else value


def _mask_field(name: Any, value: Any, kinds: set[str]) -> Any:
    """The value of an object's field, whose name may say that it is secret."""
    if isinstance(name, str) and isinstance(value, str) and "\n" not in value and '"' not in value:
        before = f'"{name}": "'
        shown = mask_secrets(f'{before}{value}"')
        if shown.counts and shown.text.startswith(before):
            kinds.update(shown.kinds)
            return shown.text[len(before) : -1]
    return _mask_value(value, kinds)


def _find_by_format(kind: str, pattern: str, text: str) -> Iterator[Span]:
    for match in _compile_pattern(pattern).finditer(text):
        if not is_example_key(match[0]):
            yield *match.span(), kind


def _find_by_context(context: SecretContext, text: str) -> Iterator[Span]:
    for match in _compile_pattern(context.pattern).finditer(text):
        if context.is_proof or _is_secret(context, match):
            yield *match.span("secret"), context.kind


def _is_secret(context: SecretContext, match: re.Match[str]) -> bool:
    groups = match.groupdict()
    value = groups.get("password") or groups["secret"]
    if "[masked" in value or stands_for_a_secret(value) or value == groups.get("user"):
        return False
    return not context.is_random or looks_random(value)


def _find_assignments(text: str) -> Iterator[Span]:
    for secret in assignments.find_assigned_secrets(text):
        if "[masked" not in text[secret.start : secret.end]:
            yield secret.start, secret.end, secret.kind


def _find_cookies(text: str) -> Iterator[Span]:
    for start, end in cookies.find_cookies(text):
        yield start, end, "cookie"


def _list_rules() -> Iterator[MaskingRule]:
    blocks = [context for context in CONTEXTS if context.kind == "private key"]
    for context in blocks:
        yield MaskingRule(context.kind, context.sign, partial(_find_by_context, context))
    for kind, sign, pattern in FORMATS:
        yield MaskingRule(kind, sign, partial(_find_by_format, kind, START + pattern))
    for context in CONTEXTS:
        if context not in blocks:
            yield MaskingRule(context.kind, context.sign, partial(_find_by_context, context))
    yield MaskingRule("cookie", cookies.SIGN, _find_cookies)
    yield MaskingRule("password", assignments.SIGN, _find_assignments)


RULES = tuple(_list_rules())


@cache
def _compile_pattern(secret: str) -> re.Pattern[str]:
    """Compiled when its sign is first found; most are never needed."""
    return re.compile(secret)


def _compile_signs() -> re2.Set:
    """All signs as one automaton: one pass over the text says which rules to try."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 8 * 1024 * 1024
    signs = re2.Set.SearchSet(options)
    for rule in RULES:
        signs.Add(rule.sign)
    signs.Compile()
    return signs


_SIGNS = _compile_signs()
