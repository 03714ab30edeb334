"""What `commonplace librarian` sends of a scan: functions, those that are gone, and lines that moved.

Merging it into the registry is in `syncing.py`.
"""

from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field

from commonplace import errors
from commonplace.arguments import MAX_INTEGER
from commonplace.rooms.functions.model import FunctionName, FunctionParameters, FunctionTexts, SourceCode

MAX_SYNC_BATCH = 500

ScannedObjects = Annotated[list[dict[str, Any]], Field(max_length=MAX_SYNC_BATCH)]
SyncedText = Annotated[str, Field(max_length=1100)]
SyncedNumber = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
GoneFunctions = Annotated[
    list[Annotated[list[SyncedText], Field(max_length=10)]], Field(max_length=10 * MAX_SYNC_BATCH)
]
MovedLines = Annotated[
    list[Annotated[list[SyncedText | SyncedNumber], Field(max_length=10)]],
    Field(max_length=10 * MAX_SYNC_BATCH),
]


class ScannedFunction(BaseModel):
    """A function as `commonplace librarian` read it from a source file."""

    model_config = ConfigDict(extra="forbid")

    file: Annotated[str, Field(min_length=1, max_length=1024)]
    name: FunctionName
    kind: Literal["function", "method", "class"]
    language: Annotated[str, Field(max_length=20)]
    line: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    end_line: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    signature: Annotated[str, Field(max_length=400)]
    body: Annotated[str, Field(max_length=64)]
    digest: Annotated[str, Field(min_length=1, max_length=64)]
    complexity: Annotated[int, Field(ge=1, le=MAX_INTEGER)] = 1
    returns: Annotated[str, Field(max_length=400)] = ""
    doc: Annotated[str, Field(max_length=1000)] = ""
    parameters: FunctionParameters = []
    raises: FunctionTexts = []
    calls: FunctionTexts = []
    called_by: FunctionTexts = []
    side_effects: FunctionTexts = []
    code: SourceCode = ""

    def to_stored_facts(self) -> dict[str, Any]:
        """Return the facts that are stored as they were read."""
        names = ("parameters", "returns", "doc", "raises", "calls", "called_by", "side_effects")
        return {name: value for name in names if (value := getattr(self, name))}


_SCANNED_FUNCTIONS = pydantic.TypeAdapter(list[ScannedFunction])


def parse_scanned_functions(functions: list[dict[str, Any]]) -> list[ScannedFunction]:
    try:
        return _SCANNED_FUNCTIONS.validate_python(functions)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise errors.Invalid(
            f"functions.{where}: {first['msg']}.",
            hint="Run `commonplace librarian` of the server's version; only it calls this operation.",
        ) from None
