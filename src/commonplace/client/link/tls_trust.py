"""Which certificates the clients accept from an https server.

Those of the system, or of SSL_CERT_FILE and SSL_CERT_DIR, which OpenSSL reads itself; and those in the file that
`remote.find_ca_file` finds, for a server with a certificate of the team's own authority. This
is imported only for https addresses: `ssl` takes long to import.
"""

import ssl


def build_tls_context(ca_file: str) -> ssl.SSLContext:
    """Raises ValueError for a file that holds no certificates."""
    context = ssl.create_default_context()
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except OSError as error:
            raise ValueError(f"the certificates in {ca_file} cannot be read: {error}") from None
    return context
