"""`search` and `fetch`: the two read-only tools that ChatGPT's connectors and deep research expect.

Their names, their one argument each and the shape of their replies are given by those clients. They are the toolset
`chatgpt`, which is shown only where it is asked for (/mcp/x/chatgpt); other agents use memory_search_global and
memory_get_by_id, which these call.
"""

from typing import Annotated
from urllib.parse import quote, urlsplit

from pydantic import Field

from commonplace import access, errors
from commonplace.call import Call
from commonplace.operation import Reply, operation
from commonplace.rooms.knowledge import model
from commonplace.rooms.knowledge.operations import find_item, search_global
from commonplace.rooms.knowledge.results import name_project
from commonplace.search.engine import prepare_question

FetchedId = Annotated[
    str, Field(min_length=3, max_length=500, description="The id of a result of `search`: project/id.")
]
_GLOBAL = name_project(access.ALL_PROJECTS)


class ConnectorResult(Reply):
    """`url` is what ChatGPT cites; a result without one is not cited."""

    id: str
    title: str
    url: str
    text: str = ""


class ConnectorResults(Reply):
    results: list[ConnectorResult]


class ConnectorDocument(Reply):
    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


@operation(
    "search",
    role="readonly",
    session=False,
    structured=True,
    prepare=prepare_question("query"),
    example={"query": "retry with backoff"},
)
async def search_for_connector(call: Call, query: model.QueryText) -> ConnectorResults:
    """Search the team's shared memory: lessons, decisions, specs, functions, files and past agent sessions of
    every project that you may read. Open a result with `fetch`.
    """
    answer = await search_global.function(call, query=query)
    return ConnectorResults(
        results=[
            ConnectorResult(
                id=f"{found.project}/{found.id}",
                title=found.title or found.id,
                url=_build_url(call, found.project, found.id),
                text=found.content_preview,
            )
            for found in answer.results
        ]
    )


@operation("fetch", role="readonly", session=False, structured=True, example={"id": "shop/doc_000000000000"})
async def fetch_for_connector(call: Call, id: FetchedId) -> ConnectorDocument:
    """Open a result of `search` by its id: the full text, with its type, author and age."""
    named, _, item_id = id.partition("/")
    project = access.ALL_PROJECTS if named == _GLOBAL else access.normalize_project_name(named)
    is_readable = project == access.ALL_PROJECTS or access.can_read_project(call.caller, project)
    item = await find_item(call, [project], item_id) if is_readable else None
    if item is None:
        raise errors.NotFound("There is nothing with this id.", hint="Use an id that `search` returned.")
    details = {name: str(getattr(item, name)) for name in _METADATA_FIELDS}
    return ConnectorDocument(
        id=id,
        title=item.title or item.id,
        text=item.content,
        url=_build_url(call, named, item.id),
        metadata={name: text for name, text in details.items() if text and text != "None"},
    )


_METADATA_FIELDS = ("project", "type", "status", "author", "created", "updated", "warning")


def _build_url(call: Call, project: str, item_id: str) -> str:
    """The item on the server's page, at the address that clients know."""
    settings = call.settings
    known = urlsplit(settings.oauth_resource)
    origin = f"{known.scheme}://{known.netloc}" if known.netloc else f"http://{settings.host}:{settings.port}"
    return f"{origin}/knowledge?project={quote(project, safe='')}&doc={quote(item_id, safe='')}"
