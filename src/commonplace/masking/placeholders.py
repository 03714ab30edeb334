"""Is a value a secret, or does it stand for one: a placeholder, a reference, a type, a label?

Values come from `assignments.py` and `contexts.py`, which know by the words around a value that a secret may stand
there. Nothing here goes by randomness alone.
"""

import base64
import binascii
import re

_STAND_INS = frozenset(
    [
        "admin",
        "any",
        "apikey",
        "basic",
        "bearer",
        "changeit",
        "changeme",
        "default",
        "disabled",
        "dummy",
        "empty",
        "enabled",
        "example",
        "failed",
        "fake",
        "false",
        "file",
        "foo",
        "foobar",
        "foobared",
        "bar",
        "baz",
        "guest",
        "hidden",
        "include",
        "inherit",
        "input",
        "invalid",
        "key",
        "letmein",
        "masked",
        "missing",
        "mock",
        "n/a",
        "na",
        "nil",
        "no",
        "none",
        "notset",
        "null",
        "number",
        "omit",
        "on",
        "off",
        "optional",
        "pass",
        "passwd",
        "password",
        "placeholder",
        "postgres",
        "private",
        "prompt",
        "public",
        "pwd",
        "qwerty",
        "read",
        "redacted",
        "removed",
        "required",
        "root",
        "same-origin",
        "sample",
        "secret",
        "setme",
        "stdin",
        "str",
        "string",
        "test",
        "testing",
        "todo",
        "token",
        "true",
        "unset",
        "undefined",
        "unknown",
        "user",
        "value",
        "varchar",
        "wrong",
        "yes",
    ]
)
"""Values that people write instead of a secret, or that are the same in every example."""
_STAND_IN_PARTS = re.compile(
    r"(?i)\byour[-_ ]|[-_ ]here\b|^your|^my[-_]|example|placeholder|change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|this|with)"
    r"|insert[-_ ]|enter[-_ ]|put[-_ ]your|redacted|\[masked|<[^>]*>|x{5,}|\*{3,}|•{3,}|\.\.\.|…|^todo|^fixme|^dummy|^fake"
)
_REFERENCES = re.compile(
    r"""(?x)
    ^\$ | ^\{ | ^% | \$\{ | \{\{ | ^\#\{ | ^<% | ^@ | ^& | ^!                      # variables and templates
    | ^\(\(?\w+\)                                                                  # ((credhub))
    | ^(?:os|process|env|sys|self|this|config|conf|cfg|settings|options|opts|args|params|props|req|request|res|ctx
        |event|user|data|secrets|vars|var|local|module|import|input|core|context|state|Deno|System|Rails|ENV)[.\[(]
    | ^(?:vault|env|file|op|ssm|sm|gcp|aws|azure|ref\+?\w*|secret|sops|arn|http|https|s3|gs|kms|path|\w+-secret):
    | ^ENC\[ | ^ref\+ | ^data: | ^(?:~|\.{1,2})?/[\w.\-/]+$ | ^[A-Za-z]:\\       # addresses and paths
    | ^[A-Za-z_][\w.:$>-]*(?:\((?:.*[()])?[a-z]{0,2}|\[(?:.*\])?)[!;,)\]}:]*$       # a call, an index
    | ^[A-Za-z_][A-Za-z_.]{2,}[\w.]*\( | ^(?:lambda|await|new|async|function|func)\b
    | ^0x[0-9A-Fa-f]+$ | ^[\d.,_]+$                                                # a number
    """
)
_RULES_OF_A_FIELD = re.compile(
    r"(?i)^(?:required|nullable|string|sometimes|min|max|present)[|:]|\|(?:min|max|string)\b"
)
_PATH_END = re.compile(
    r"\.(?:pem|key|crt|cer|p12|pfx|jks|ya?ml|json|toml|ini|txt|py|js|ts|go|rb|env|conf|cfg|md)$"
)
_SECRET_WORDS = re.compile(
    r"(?i)pass(?:w(?:or)?d|phrase|wort)?|pwd|secret|token|credential|api[_-]?key|[_-]key|key[_-]|^key$|(?-i:Key)"
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$.\-]*[!?;,]*")
_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]+|\d{1,6}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_NOT_A_START = " \t),;:+|"


def stands_for_a_secret(value: str) -> bool:
    """Whether the value is not a secret itself."""
    core = value.strip(".,;")
    return (
        not core
        or value[0] in _NOT_A_START
        or core.lower().rstrip("!?") in _STAND_INS
        or len(set(core)) <= 2  # noqa: PLR2004 - xxxxxxxx, 0000
        or _STAND_IN_PARTS.search(value) is not None
        or _REFERENCES.search(core) is not None
        or _RULES_OF_A_FIELD.search(core) is not None
        or _PATH_END.search(core) is not None
        or _names_a_secret(core)
    )


def _names_a_secret(value: str) -> bool:
    """`db_password`, `SecretStr`, `access-token`: the name of a secret, made of words only."""
    if not _SECRET_WORDS.search(value) or not _IDENTIFIER.fullmatch(value):
        return False
    words = _WORDS.findall(value)
    return (
        len("".join(words)) >= len(re.sub(r"[^A-Za-z0-9]", "", value)) and len(words) <= len(value) // 3 + 1
    )


def is_example_key(value: str) -> bool:
    """A key in a provider's format that its own documentation shows, or that was made unreadable."""
    return (
        "EXAMPLE" in value
        or "..." in value
        or "…" in value
        or re.search(r"(?i)x{8}|\*{3}", value) is not None
    )


def looks_random(value: str) -> bool:
    """Whether a value of a doubtful name, such as `token`, can be nothing but a secret."""
    core = value.rstrip(".,;")
    if _UUID.fullmatch(core):
        return True
    if len(core) < 8 or not any(mark.isalpha() for mark in core):  # noqa: PLR2004 - shorter ones are words
        return False
    if _is_made_of_words(core):
        return False
    has_digit, is_mixed = any(mark.isdigit() for mark in core), core.lower() != core != core.upper()
    has_odd = any(not mark.isalnum() and mark not in "._-/:@ " for mark in core)
    return (has_digit or has_odd) and (is_mixed or has_odd or len(core) >= 10)  # noqa: PLR2004


def _is_made_of_words(value: str) -> bool:
    """`order-2026-1001`, `node.modules.v2`: words and numbers between separators."""
    parts = [part for part in re.split(r"[-_./:@]+", value) if part]
    return len(parts) > 1 and all(
        re.fullmatch(r"[a-z]{2,}\d?|[A-Z]?[a-z]{2,}|[A-Z]{2,}|v?\d{1,8}", part) for part in parts
    )


def is_login_in_base64(value: str) -> bool:
    """`dXNlcjpwYXNz`: user and password as HTTP and Docker write them."""
    try:
        login = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError, UnicodeDecodeError):
        return False
    return ":" in login and login.isprintable()
