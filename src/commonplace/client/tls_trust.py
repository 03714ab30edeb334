"""Which certificates the clients accept from an https server.

Those of the system, or of SSL_CERT_FILE and SSL_CERT_DIR, which OpenSSL reads itself; and those in the file that
COMMONPLACE_CA_FILE or `ca_file` in config.toml names, for a server with a certificate of the team's own authority. This
is imported only for https addresses: `ssl` takes long to import.
"""

import os
import ssl
from pathlib import Path

from commonplace.client import remote


def find_ca_file() -> str:
    """The file with further authorities; empty if none is set."""
    named = os.environ.get("COMMONPLACE_CA_FILE") or str(remote.read_configuration().get("ca_file") or "")
    return str(Path(named).expanduser()) if named else ""


def build_tls_context(ca_file: str) -> ssl.SSLContext:
    """Raises ValueError for a file that holds no certificates."""
    context = ssl.create_default_context()
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except OSError as error:
            raise ValueError(f"the certificates in {ca_file} cannot be read: {error}") from None
    return context
