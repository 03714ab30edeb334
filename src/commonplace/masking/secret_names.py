"""Does a name say that its value is secret? `db_password`, `STRIPE_KEY` and `clientSecret` do; `max_tokens` does not."""

# ruff: noqa: SIM905 - lists of words are read as text
import re
from typing import Literal

Strength = Literal["password", "secret", "login"]
"""What kind of value the name promises: `secret` covers tokens and keys, `login` is user and password in Base64."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PASSWORD_WORDS = ("password", "passwd", "passphrase", "passcode", "pwd", "storepass", "keypass")
_SUFFIX_WORDS = frozenset(
    "base data value string b64 base64 prod production staging live dev old new ref".split()
)
_INNOCENT_BEFORE_TOKEN = frozenset(
    "page next previous prev continuation sync resume cursor csrf xsrf cancellation cancel max min total prompt stop eos"
    " bos pad unk mask lock fencing request input output start end first last current lookahead".split()
)
_SECRET_BEFORE_KEY = frozenset(
    "api secret private access account auth master encryption encrypt decryption signing sign shared preshared service"
    " admin deploy webhook jwt session gpg vault storage subscription consumer client hmac aes rsa root license app"
    " application webhooks cipher crypto integration ingest".split()
)
_INNOCENT_BEFORE_KEY = frozenset(
    "public primary foreign cache sort partition hot idempotency routing lookup object group map dict row unique index"
    " composite shortcut meta json config registry cursor result output input range hash bucket file item entry".split()
)
_SPOKEN_NAME = re.compile(r"(?i)(?:\b|\\n)(api|secret|access|private|client)[ ]$")


def classify_name(name: str, before_name: str) -> Strength | None:
    """What the name promises. `before_name` is the text before it, for names that are written with a space."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while len(words) > 1 and (words[-1] in _SUFFIX_WORDS or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last = words[-1]
    if last == "pass" or last.endswith(_PASSWORD_WORDS):
        return "password"
    if last == "auth":
        return "login"
    before = words[-2] if len(words) > 1 else _word_before(before_name)
    return "secret" if _promises_secret(name, last, before, before_name) else None


def _promises_secret(name: str, last: str, before: str, before_name: str) -> bool:
    if last == "sig":
        return before_name.endswith(("?", "&"))
    if last == "key":
        return before in _SECRET_BEFORE_KEY or _is_variable(name, before)
    if last.endswith("apikey"):
        return True
    return (
        last.endswith(("token", "secret", "credential", "credentials"))
        and before not in _INNOCENT_BEFORE_TOKEN
    )


def _is_variable(name: str, before: str) -> bool:
    """`STRIPE_KEY`: in the environment most keys are secret, elsewhere most are not."""
    return name.isupper() and bool(before) and before not in _INNOCENT_BEFORE_KEY


def _word_before(text: str) -> str:
    """`api` before `key` in `API key: …`."""
    match = _SPOKEN_NAME.search(text[-9:])
    return match[1].lower() if match else ""
