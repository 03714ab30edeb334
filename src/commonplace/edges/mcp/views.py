"""Which tools a client asked for: by URL, else by header; it can only narrow what its key allows."""

from collections.abc import Mapping
from functools import lru_cache

from commonplace.edges.mcp.host import View


def view_of(path: str, headers: Mapping[str, str]) -> View | None:
    """The view of `` (everything), `/readonly`, `/x/{sets}` or `/x/{sets}/readonly`; None elsewhere."""
    return _view(path, headers.get("x-mcp-toolsets", ""), headers.get("x-mcp-readonly", ""))


@lru_cache(maxsize=1024)
def _view(path: str, toolsets: str, readonly: str) -> View | None:
    narrowed = readonly.lower() in {"1", "true", "yes"}
    match path.strip("/").split("/"):
        case [""]:
            return View(_sets(toolsets), narrowed)
        case ["readonly"]:
            return View(_sets(toolsets), readonly=True)
        case ["x", sets] if sets:
            return View(_sets(sets), narrowed)
        case ["x", sets, "readonly"] if sets:
            return View(_sets(sets), readonly=True)
    return None


def _sets(names: str) -> frozenset[str] | None:
    chosen = frozenset(name.strip().lower() for name in names.split(",") if name.strip())
    return None if not chosen or "all" in chosen else chosen
