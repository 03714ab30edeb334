"""Tokens that a client carries for us and cannot change, move to another caller or use for something else."""

import base64
import binascii
import hashlib
import hmac
from typing import Final

_MAC_BYTES: Final = 24
_SECRET_BYTES: Final = 32


class Seal:
    """Signs, does not hide: whoever holds a token can read its payload."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < _SECRET_BYTES:
            raise ValueError(f"the secret must have at least {_SECRET_BYTES} bytes")
        self._secret = secret

    def close(self, purpose: str, payload: bytes, bound_to: str) -> str:
        token = self._mac(purpose, payload, bound_to) + payload
        return base64.urlsafe_b64encode(token).rstrip(b"=").decode()

    def open(self, purpose: str, token: str, bound_to: str) -> bytes | None:
        try:
            sealed = base64.b64decode(token.encode() + b"=" * (-len(token) % 4), b"-_", validate=True)
        except (binascii.Error, UnicodeEncodeError):
            return None
        mac, payload = sealed[:_MAC_BYTES], sealed[_MAC_BYTES:]
        return payload if hmac.compare_digest(mac, self._mac(purpose, payload, bound_to)) else None

    def _mac(self, purpose: str, payload: bytes, bound_to: str) -> bytes:
        # The binding is digested first so that no two pairs of binding and payload read as the same bytes.
        binding = hashlib.sha256(f"{purpose}\0{bound_to}".encode()).digest()
        return hmac.digest(self._secret, binding + payload, "sha256")[:_MAC_BYTES]
