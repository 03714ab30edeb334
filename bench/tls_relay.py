"""A remote server on this machine: a relay in front of a plain HTTP server that speaks TLS and delays every byte.

Used by the benchmarks and the tests of hooks. The delay stands before TLS, so a handshake costs its round trips, and so
does the connection itself. The certificate is made by an authority that exists for one relay.
"""

import asyncio
import contextlib
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_CHUNK_BYTES = 65536


class TlsRelay:
    """Relays to 127.0.0.1:`target_port`. `ca_file` is the certificate of its authority."""

    def __init__(
        self, target_port: int, round_trip_seconds: float, folder: Path, host: str = "127.0.0.1"
    ) -> None:
        self.round_trip_seconds, self._host = round_trip_seconds, host
        self.ca_file = folder / "authority.pem"
        self.connection_count = 0
        self.port = 0
        self._target_port, self._inner_port = target_port, 0
        self._certificate, self._key = folder / "relay.pem", folder / "relay.key"
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"https://{self._host}:{self.port}"

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator["TlsRelay"]:
        write_certificates(self.ca_file, self._certificate, self._key, self._host)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate, self._key)
        terminating = await asyncio.start_server(self._accept(self._terminate), "127.0.0.1", 0, ssl=context)
        delaying = await asyncio.start_server(self._accept(self._delay), self._host, self.port, backlog=200)
        self._inner_port = terminating.sockets[0].getsockname()[1]
        self.port = delaying.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            delaying.close()
            terminating.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(
        self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(serve(reader, writer))  # type: ignore[arg-type]
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return accept

    async def _delay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        await self._relay(reader, writer, self._inner_port, self.round_trip_seconds)

    async def _terminate(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._relay(reader, writer, self._target_port, 0.0)

    async def _relay(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, round_trip_seconds: float
    ) -> None:
        writers, delay_seconds = [writer], round_trip_seconds / 2
        try:
            # The client is connected already; with this its first bytes arrive as late as after a real connection.
            await asyncio.sleep(round_trip_seconds)
            target_reader, target_writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(target_writer)
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(_pump(reader, target_writer, delay_seconds))
                pumps.create_task(_pump(target_reader, writer, delay_seconds))
        except (OSError, ExceptionGroup):
            pass
        finally:
            for opened in writers:
                opened.transport.abort()
            await asyncio.gather(*(opened.wait_closed() for opened in writers), return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_seconds: float) -> None:
    """Every chunk leaves `delay_seconds` after it came; chunks that follow do not wait for it."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()

    async def write_chunks() -> None:
        while True:
            due, chunk = await queue.get()
            await asyncio.sleep(due - loop.time())
            if not chunk:
                writer.close()
                await writer.wait_closed()
                return
            writer.write(chunk)
            await writer.drain()

    async def read_chunks() -> None:
        chunk = b"-"
        while chunk:
            try:
                chunk = await reader.read(_CHUNK_BYTES)
            except OSError:
                chunk = b""
            queue.put_nowait((loop.time() + delay_seconds, chunk))

    async with asyncio.TaskGroup() as pair:
        pair.create_task(read_chunks())
        pair.create_task(write_chunks())


def write_certificates(
    ca_file: Path, certificate_file: Path, key_file: Path, host: str = "127.0.0.1"
) -> None:
    """An authority, and a certificate of it for the host, an IP address, and localhost."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(host))]
    authority = _sign(
        "authority of one relay",
        authority_key,
        "authority of one relay",
        authority_key,
        [(x509.BasicConstraints(ca=True, path_length=0), True), (_key_usage(signs=True), True)],
    )
    certificate = _sign(
        "relay",
        key,
        "authority of one relay",
        authority_key,
        [
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_key_usage(signs=False), True),
            (x509.SubjectAlternativeName(names), False),
            (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        ],
    )
    ca_file.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def _sign(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    extensions: list[tuple[x509.ExtensionType, bool]],
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(issuer_id, critical=False)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(issuer_key, hashes.SHA256())


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
