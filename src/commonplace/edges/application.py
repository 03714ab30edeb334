"""Every HTTP route of the server on one screen. What is true of each route is in edges/http/router.py."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from commonplace.call import Calls
from commonplace.config import Settings
from commonplace.edges.archives import ArchiveRoutes
from commonplace.edges.documentation import list_page_routes
from commonplace.edges.http.client_address import TrustedProxies
from commonplace.edges.http.machine_hosts import find_machine_hosts
from commonplace.edges.http.rate_limits import RateLimits
from commonplace.edges.http.router import LOOPBACK_HOSTS, HttpApplication, Route
from commonplace.edges.identity import Identity
from commonplace.edges.mcp.http_transport import McpHttpTransport
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.metrics import Metrics
from commonplace.edges.product_host import ProductHost
from commonplace.edges.project_events import ProjectEvents
from commonplace.edges.readiness import Probes, Readiness
from commonplace.edges.rest import RestApi
from commonplace.edges.shared_subscriptions import SharedSubscriptions
from commonplace.edges.web.page_files import WebPage
from commonplace.edges.web.sign_in import SignIn
from commonplace.edges.web.view_json import ViewJson


def build_application(
    calls: Calls,
    identity: Identity,
    publisher: Publisher,
    events: ProjectEvents,
    mcp_secret: bytes,
    readiness: Readiness | None = None,
    subscriptions: SharedSubscriptions | None = None,
    resource_routes: Mapping[str, Route] | None = None,
) -> HttpApplication:
    settings, readiness = calls.settings, readiness or Readiness(calls)
    metrics = Metrics(readiness.collector)
    calls.observe = metrics.observe_call
    probes = Probes(readiness, metrics)
    sign_in = SignIn(calls, identity)
    host = ProductHost(calls, identity.identify, publisher)
    mcp = McpHttpTransport(host, publisher, secret=mcp_secret, subscriptions=subscriptions)
    rest, archives = RestApi(calls), ArchiveRoutes(calls)
    routes: dict[str, dict[str, Route]] = {
        **mcp.routes(),  # /mcp, /mcp/**
        "/api/*": {"POST": rest.call_operation},
        "/openapi.json": {"GET": rest.send_openapi},
        "/api": {"GET": rest.send_index_page},
        "/archives/*/*": {
            "PUT": archives.put_part,
            "GET": archives.send_archive,
            "HEAD": archives.send_archive,
        },
        "/events": {"GET": events.follow},
        "/metrics": {"GET": probes.send_metrics},
        **ViewJson(calls).routes(),  # /now.json, /work.json, ...
        **sign_in.routes(),  # /sign-out
    }
    # Without a key: nothing in these is worth a secret.
    public: dict[str, Route] = {
        "/live": probes.send_life,
        "/health": probes.send_health,
        "/ready": probes.send_readiness,
        **sign_in.public_routes(),  # /session
        **WebPage().public_routes(),  # /, /now, /work, ..., /assets/*/*
        **list_page_routes(),  # /docs/README.md, /docs/guides/...
        **(resource_routes or {}),  # /.well-known/oauth-protected-resource, where an issuer is configured
    }
    return HttpApplication(
        identity.identify,
        routes,
        public,
        public_posts=sign_in.public_posts(),  # /sign-in
        allowed_hosts=_list_allowed_hosts(settings),
        allowed_origins=frozenset(settings.allowed_origins),
        rate_limits=RateLimits(settings.rate_per_key, settings.rate_per_address),
        trusted_proxies=TrustedProxies(settings.trusted_proxies),
    )


def _list_allowed_hosts(settings: Settings) -> frozenset[str]:
    """With keys on, a page that reaches this machine by its own name still lacks a key, so its names are allowed."""
    is_shared = settings.auth_on and not settings.is_loopback
    own = find_machine_hosts().allowed_hosts() if is_shared else frozenset[str]()
    public = {urlsplit(settings.oauth_resource).netloc} if settings.oauth_resource else set[str]()
    return LOOPBACK_HOSTS | {settings.host, *settings.allowed_hosts} | own | public
