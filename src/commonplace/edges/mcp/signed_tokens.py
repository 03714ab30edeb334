"""Tokens that a client carries for us and cannot change, move to another caller or use for another purpose.

They make sessions (legacy/legacy_sessions.py) and request states (modern/modern_server.py) work on any replica
and after a restart. They are signed, not encrypted.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final

_MAC_BYTES: Final = 24
_MIN_SECRET_BYTES: Final = 32


class TokenSigner:
    """Signs, does not hide: whoever holds a token can read its payload."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < _MIN_SECRET_BYTES:
            raise ValueError(f"the secret must have at least {_MIN_SECRET_BYTES} bytes")
        self._secret = secret

    def sign(self, purpose: str, payload: bytes, bound_to: str) -> str:
        token = self._compute_mac(purpose, payload, bound_to) + payload
        return base64.urlsafe_b64encode(token).rstrip(b"=").decode()

    def read(self, purpose: str, token: str, bound_to: str) -> bytes | None:
        """The payload of a token that was signed for this purpose and binding, else None."""
        try:
            signed = base64.b64decode(token.encode() + b"=" * (-len(token) % 4), b"-_", validate=True)
        except (binascii.Error, UnicodeEncodeError):
            return None
        mac, payload = signed[:_MAC_BYTES], signed[_MAC_BYTES:]
        return payload if hmac.compare_digest(mac, self._compute_mac(purpose, payload, bound_to)) else None

    def _compute_mac(self, purpose: str, payload: bytes, bound_to: str) -> bytes:
        # The binding is digested first so that no two pairs of binding and payload read as the same bytes.
        binding = hashlib.sha256(f"{purpose}\0{bound_to}".encode()).digest()
        return hmac.digest(self._secret, binding + payload, "sha256")[:_MAC_BYTES]
