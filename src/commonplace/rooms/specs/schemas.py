"""Is this object a JSON Schema?"""

from typing import Any

import msgspec

from commonplace import errors

_LARGEST = 51_200
# Any other dialect would be looked up on the network.
_DIALECTS = frozenset(
    f"{scheme}://json-schema.org/{draft}{end}"
    for scheme in ("http", "https")
    for draft in (
        "draft-04/schema",
        "draft-06/schema",
        "draft-07/schema",
        "draft/2019-09/schema",
        "draft/2020-12/schema",
    )
    for end in ("", "#")
)


def require_valid(schema: dict[str, Any]) -> str:
    """The schema as text; references to elsewhere are left alone."""
    import jsonschema_rs  # noqa: PLC0415 - 15 MB that most servers never need

    text = msgspec.json.encode(schema).decode()
    if len(text) > _LARGEST:
        raise errors.TooLarge(
            f"json_schema has {len(text)} characters; {_LARGEST} is the most.", hint="Split the spec."
        )
    dialect = schema.get("$schema")
    if dialect is not None and dialect not in _DIALECTS:
        raise errors.Invalid(
            "json_schema: $schema names no known draft.", hint="Use draft 2020-12, or leave it out."
        )
    try:
        jsonschema_rs.validator_for(schema, retriever=_unread)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as wrong:
        reason = str(wrong).partition("\n")[0][:300]
        raise errors.Invalid(f"json_schema is no valid JSON Schema: {reason}", hint="Correct it.") from None
    return text


def _unread(_uri: str) -> dict[str, Any]:
    return {}
