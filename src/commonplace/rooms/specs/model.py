"""A spec: its versions, who may change it, and how replies show it."""

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import semver
from pydantic import Field

from commonplace import errors
from commonplace.clock import age, iso
from commonplace.operation import Reply
from commonplace.store.database import Row

FIRST = "1.0.0"
STATE = "state:"
USUAL_TYPE = "interface"

Name = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00-\x1f]([^\x00-\x1f]*[^\s\x00-\x1f])?$")
]
Content = Annotated[str, Field(min_length=1, max_length=51_200)]
VersionText = Annotated[str, Field(min_length=5, max_length=100)]
SpecType = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[\w.-]+$")]
Tag = Annotated[str, Field(min_length=1, max_length=64)]
Tags = Annotated[list[Tag], Field(max_length=20)]
Limit = Annotated[int, Field(ge=1, le=200)]


class Defined(Reply):
    status: str
    id: str
    spec_name: str
    version: str
    owner: str
    previous_version: str = ""


class Spec(Reply):
    id: str
    spec_name: str
    project: str
    version: str
    owner: str
    spec_type: str
    content: str
    author: str
    created: str
    age: str
    latest_version: str = ""
    tags: list[str] = []
    json_schema: dict[str, Any] = {}

    @classmethod
    def of(cls, spec: Row, version: Row, now: int) -> "Spec":
        return cls(
            id=spec["id"],
            spec_name=spec["name"],
            project=spec["project"],
            version=version["version"],
            owner=spec["owner"],
            spec_type=version["spec_type"],
            content=version["content"],
            author=version["author"],
            created=iso(version["created_at"]),
            age=age(version["created_at"], now),
            latest_version=spec["version"] if spec["version"] != version["version"] else "",
            tags=msgspec.json.decode(version["tags"]),
            json_schema=msgspec.json.decode(version["json_schema"]),
        )


class Summary(Reply):
    spec_name: str
    project: str
    version: str
    owner: str
    spec_type: str
    updated: str
    versions: list[dict[str, str]] = []

    @classmethod
    def of(cls, spec: Row, versions: Sequence[Row]) -> "Summary":
        theirs = [
            each for each in versions if (each["project"], each["name"]) == (spec["project"], spec["name"])
        ]
        return cls(
            spec_name=spec["name"],
            project=spec["project"],
            version=spec["version"],
            owner=spec["owner"],
            spec_type=spec["spec_type"],
            updated=iso(spec["updated_at"]),
            versions=past(theirs),
        )


class Listing(Reply):
    count: int
    total: int
    specs: list[Summary] = []


def past(versions: Sequence[Row]) -> list[dict[str, str]]:
    return [
        {"version": each["version"], "by": each["author"], "at": iso(each["created_at"])} for each in versions
    ]


def parse(version: str) -> semver.Version:
    try:
        return semver.Version.parse(version)
    except ValueError:
        raise errors.Invalid(
            f"'{version}' is no semantic version.", hint="Write it like 1.4.0 or 2.0.0-rc.1."
        ) from None


def next_version(current: str | None, wanted: str | None) -> str:
    """The version to store: what was asked for if it is higher than the current one, else the next patch."""
    if current is None:
        return str(parse(wanted)) if wanted else FIRST
    latest = parse(current)
    if wanted is None:
        return str(latest.next_version("patch"))
    if parse(wanted) <= latest:
        raise errors.Conflict(
            f"{wanted} is not higher than {current}.", hint="Versions must rise.", current=current
        )
    return wanted


def kept_type(name: str, before: str | None, given: str) -> str:
    """A type that was left out does not take back the one that was given before."""
    if given != USUAL_TYPE:
        return given
    return before or ("state" if name.startswith(STATE) else USUAL_TYPE)


def require_not_halved(name: str, before: str, after: str) -> None:
    """A state is written over and over by its agent; half of it gone at once is more often a slip than a wish."""
    if name.startswith(STATE) and 2 * len(after) < len(before):
        raise errors.Conflict(
            f"'{name}' would shrink from {len(before)} to {len(after)} characters.",
            hint="Give the whole state, or force=true.",
            current_length=len(before),
        )


def uri(project: str, name: str) -> str:
    return f"spec://{project}/{quote(name, safe=':')}"


def found(spec: Spec, versions: Sequence[Row]) -> dict[str, Any]:
    """A spec as memory_get_by_id shows it."""
    return {
        "id": spec.id,
        "title": spec.spec_name,
        "type": "spec",
        "status": "active",
        "project": spec.project,
        "tags": spec.tags,
        "created": iso(versions[-1]["created_at"]),
        "updated": spec.created,
        "author": spec.author,
        "content": spec.content,
        "versions": past(versions),
        "links": {"uri": uri(spec.project, spec.spec_name)},
        "version": spec.version,
        "owner": spec.owner,
        "spec_type": spec.spec_type,
    }
