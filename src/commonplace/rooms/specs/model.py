"""Specs and their versions: arguments, replies, and the rules for the next version. The SQL is in `store.py`."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import semver
from pydantic import Field

from commonplace import errors
from commonplace.clock import format_age, iso
from commonplace.operation import Reply
from commonplace.store.database import Row

FIRST_VERSION = "1.0.0"
STATE_PREFIX = "state:"
DEFAULT_SPEC_TYPE = "interface"
MAX_CONTENT_BYTES = 51_200
_MAX_SCHEMA_CHARACTERS = 51_200
# The validator would look up any other dialect on the network.
_KNOWN_DIALECTS = frozenset(
    f"{scheme}://json-schema.org/{draft}{end}"
    for scheme in ("http", "https")
    for draft in (
        *("draft-04/schema", "draft-06/schema", "draft-07/schema"),
        *("draft/2019-09/schema", "draft/2020-12/schema"),
    )
    for end in ("", "#")
)

SpecName = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00-\x1f]([^\x00-\x1f]*[^\s\x00-\x1f])?$")
]
SpecContent = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_BYTES)]
SpecVersion = Annotated[str, Field(min_length=1, max_length=100)]
SpecType = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[\w.-]+$")]
SpecTag = Annotated[str, Field(min_length=1, max_length=64)]
SpecTags = Annotated[list[SpecTag], Field(max_length=20)]
SpecLimit = Annotated[int, Field(ge=1, le=200)]


class DefinedSpec(Reply):
    status: str
    id: str
    spec_name: str
    version: str
    owner: str
    previous_version: str = ""
    breaking: bool = False
    """Whether it is a new major version."""
    notified: list[str] = []
    """The agents that were told of this version: who read an earlier one, or all for a new major version."""
    read_before: dict[str, str] = {}
    """The live agents that have read an earlier version, and which."""
    changes: str = ""
    """What changed since the previous version, in one phrase."""
    message: str = ""


class Spec(Reply):
    id: str
    spec_name: str
    project: str
    version: str
    owner: str
    spec_type: str
    content: str
    """Empty if only the changes were asked for."""
    author: str
    created: str
    age: str
    latest_version: str = ""
    warning: str = ""
    """A decision that the text cites and that was replaced."""
    to_change: str = ""
    """How somebody who is not its owner gets it changed."""
    readers: dict[str, str] = {}
    """Shown to its owner: the version that each agent opened last."""
    you_read: str = ""
    """The earlier version that this agent read last."""
    since: str = ""
    """The version from which the changes were asked for."""
    changes: str = ""
    """The fields that came and went since that version, then a unified diff, or that most of the text is new."""
    tags: list[str] = []
    json_schema: dict[str, Any] = {}

    @classmethod
    def from_row(cls, spec: Row, version: Row, now: int) -> "Spec":
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
            age=format_age(version["created_at"], now),
            latest_version=spec["version"] if spec["version"] != version["version"] else "",
            tags=msgspec.json.decode(version["tags"]),
            json_schema=msgspec.json.decode(version["json_schema"]),
        )


class SpecSummary(Reply):
    spec_name: str
    project: str
    version: str
    owner: str
    spec_type: str
    updated: str
    to_change: str = ""
    """Whom to ask, if it is not the reader's own."""
    versions: list[dict[str, str]] = []

    @classmethod
    def from_row(cls, spec: Row, versions: Sequence[Row], reader: str) -> "SpecSummary":
        return cls(
            spec_name=spec["name"],
            project=spec["project"],
            version=spec["version"],
            owner=spec["owner"],
            spec_type=spec["spec_type"],
            updated=iso(spec["updated_at"]),
            to_change="" if spec["owner"] == reader else f"ask {spec['owner']}",
            versions=format_versions(
                [
                    version
                    for version in versions
                    if (version["project"], version["name"]) == (spec["project"], spec["name"])
                ]
            ),
        )


class SpecListing(Reply):
    count: int
    total: int
    specs: list[SpecSummary]


def format_versions(versions: Sequence[Row]) -> list[dict[str, str]]:
    return [
        {"version": version["version"], "by": version["author"], "at": iso(version["created_at"])}
        for version in versions
    ]


def format_proposal_call(name: str, owner: str) -> str:
    """The call that sends the owner a proposal; who reads it can publish its text with memory_define_spec."""
    return (
        f"memory_send_message(to_instance='{owner}', category='contract', subject='Proposal: {name}',"
        " message=<the whole new text>)"
    )


def parse_version(version: str) -> semver.Version:
    try:
        return semver.Version.parse(version)
    except ValueError:
        raise errors.Invalid(
            f"'{version}' is not a valid semantic version.", hint="Pass version like 1.4.0 or 2.0.0-rc.1."
        ) from None


def choose_version(current: str, requested: str | None) -> str:
    """Return the requested version if it is higher than the current one; without a request the next patch."""
    if not current:
        return str(parse_version(requested)) if requested else FIRST_VERSION
    latest = parse_version(current)
    if requested is None:
        return str(latest.next_version("patch"))
    if parse_version(requested) <= latest:
        raise errors.Conflict(
            f"Version {requested} is not higher than the current {current}.",
            hint="Pass a higher version, or omit version for the next patch.",
            current=current,
        )
    return requested


def explain_version(previous: str, version: str, requested: str | None, removed_fields: Sequence[str]) -> str:
    """Say how to announce a breaking change, if the author chose no version or removed fields."""
    if not previous or is_new_major(previous, version) or (requested is not None and not removed_fields):
        return ""
    return (
        f"Published as {version}; `notified` were told. If it breaks what its readers wrote, publish it again with"
        f" version='{parse_version(version).major + 1}.0.0', which is announced to the whole project as breaking."
    )


def split_version_range(version: str | None) -> tuple[str | None, str | None]:
    """`1.0.0..2.0.0` asks for the changes between two versions: return the first, empty for the one that the agent
    read last, and the second, None for the latest. A plain version has no first."""
    if version is None or ".." not in version:
        return None, version
    first, _, second = version.partition("..")
    return first, second or None


def is_new_major(previous: str, version: str) -> bool:
    return parse_version(version).major > parse_version(previous).major


def choose_spec_type(name: str, previous: str | None, requested: str) -> str:
    """Return the type to store: an omitted type keeps the previous one."""
    if requested != DEFAULT_SPEC_TYPE:
        return requested
    return previous or ("state" if name.startswith(STATE_PREFIX) else DEFAULT_SPEC_TYPE)


def require_content_size(content: str) -> None:
    """The limit is in bytes, like that of documents; the argument's own is in characters."""
    if len(content.encode()) > MAX_CONTENT_BYTES:
        raise errors.TooLarge(
            f"content is larger than {MAX_CONTENT_BYTES} bytes.", hint="Split it into several specs."
        )


def require_not_halved(name: str, old_content: str, new_content: str) -> None:
    """Refuse to shrink a state below half: agents rewrite it often, and losing half is usually a mistake."""
    if name.startswith(STATE_PREFIX) and 2 * len(new_content) < len(old_content):
        raise errors.Conflict(
            f"'{name}' would shrink from {len(old_content)} to {len(new_content)} characters.",
            hint="Pass the whole state as content, or force=true to shrink it.",
            current_length=len(old_content),
        )


def render_spec_document(spec: Spec, versions: Sequence[Row], uri: str) -> dict[str, Any]:
    """Render a spec for memory_get_by_id."""
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
        "versions": format_versions(versions),
        "links": {"uri": uri},
        "version": spec.version,
        "owner": spec.owner,
        "spec_type": spec.spec_type,
    }


def require_valid_schema(schema: dict[str, Any]) -> str:
    """Return the schema as JSON text, or refuse it; references to other documents are not followed."""
    import jsonschema_rs  # noqa: PLC0415 - 15 MB that most servers never need

    text = msgspec.json.encode(schema).decode()
    if len(text) > _MAX_SCHEMA_CHARACTERS:
        raise errors.TooLarge(
            f"json_schema has {len(text)} characters; the limit is {_MAX_SCHEMA_CHARACTERS}.",
            hint="Split it over several specs.",
        )
    dialect = schema.get("$schema")
    if dialect is not None and dialect not in _KNOWN_DIALECTS:
        raise errors.Invalid(
            "json_schema: $schema is not a known draft.",
            hint="Use https://json-schema.org/draft/2020-12/schema, or omit $schema.",
        )
    try:
        jsonschema_rs.validator_for(schema, retriever=lambda _uri: {})
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = str(error).partition("\n")[0][:300]
        raise errors.Invalid(
            f"json_schema is not a valid JSON Schema: {reason}", hint="Correct json_schema, or omit it."
        ) from None
    return text
