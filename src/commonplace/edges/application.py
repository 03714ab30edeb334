"""Every HTTP route of the server, wired."""

from commonplace.call import Calls
from commonplace.edges import origin
from commonplace.edges.archives import Archives
from commonplace.edges.host import ProductHost
from commonplace.edges.http import Http
from commonplace.edges.identity import Identity
from commonplace.edges.mcp import McpHttp, Publisher
from commonplace.edges.metrics import Metrics
from commonplace.edges.probes import Probes
from commonplace.edges.rest import Rest
from commonplace.edges.stream import Stream


def application(
    calls: Calls, identity: Identity, publisher: Publisher, stream: Stream, mcp_secret: bytes
) -> Http:
    settings, metrics = calls.settings, Metrics()
    calls.observe = metrics.observe
    probes, rest = Probes(calls, metrics), Rest(calls)
    hosts = origin.LOOPBACK_HOSTS | {settings.host, *settings.allowed_hosts}
    origins = frozenset(settings.allowed_origins)
    mcp = McpHttp(
        ProductHost(calls, identity.identify, publisher),
        publisher,
        secret=mcp_secret,
        allowed_hosts=hosts,
        allowed_origins=origins,
    )
    return Http(
        identity.identify,
        lambda headers: origin.check(headers, hosts, origins),
        mcp,
        probes.public(),
        probes.routes() | rest.routes() | stream.routes() | Archives(calls).routes(),
    )
