"""Check that the `json_schema` of a spec is a valid JSON Schema."""

from typing import Any

import msgspec

from commonplace import errors

MAX_SCHEMA_CHARACTERS = 51_200
# The validator would look up any other dialect on the network.
_KNOWN_DIALECTS = frozenset(
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


def require_valid_schema(schema: dict[str, Any]) -> str:
    """Return the schema as JSON text, or refuse it; references to other documents are not followed."""
    import jsonschema_rs  # noqa: PLC0415 - 15 MB that most servers never need

    text = msgspec.json.encode(schema).decode()
    if len(text) > MAX_SCHEMA_CHARACTERS:
        raise errors.TooLarge(
            f"json_schema has {len(text)} characters; the limit is {MAX_SCHEMA_CHARACTERS}.",
            hint="Split it over several specs.",
        )
    dialect = schema.get("$schema")
    if dialect is not None and dialect not in _KNOWN_DIALECTS:
        raise errors.Invalid(
            "json_schema: $schema is not a known draft.",
            hint="Use https://json-schema.org/draft/2020-12/schema, or omit $schema.",
        )
    try:
        jsonschema_rs.validator_for(schema, retriever=_ignore_reference)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = str(error).partition("\n")[0][:300]
        raise errors.Invalid(
            f"json_schema is not a valid JSON Schema: {reason}", hint="Correct json_schema, or omit it."
        ) from None
    return text


def _ignore_reference(_uri: str) -> dict[str, Any]:
    return {}
