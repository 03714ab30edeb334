"""What has a tool of its own: memory_store refuses kinds that are not documents, and says so for types that are both."""

from typing import Annotated, Any

import msgspec
from pydantic import BeforeValidator

from commonplace.arguments import InvalidValue
from commonplace.rooms.knowledge.model import TYPE_BY_OTHER_NAME, DocumentType

_ADD_TASK = 'memory_add_backlog_item(title="...", description="...")'
_SEND_MESSAGE = 'memory_send_message(to_instance="...", message="...")'
_SET_GUIDELINE = 'memory_guidelines(action="set", name="...", rule="...", scope="<project>")'
_CALL_BY_KIND = {
    "backlog": _ADD_TASK,
    "backlog_item": _ADD_TASK,
    "task": _ADD_TASK,
    "ticket": _ADD_TASK,
    "todo": _ADD_TASK,
    "message": _SEND_MESSAGE,
    "mail": _SEND_MESSAGE,
    "guideline": _SET_GUIDELINE,
    "rule": _SET_GUIDELINE,
    "checklist": 'memory_checklist(action="create", name="...", items=["..."])',
    "function": 'memory_register_function(name="...", file_path="path:line", purpose="...")',
    "work": 'memory_update_work(title="...", status="in_progress")',
}
# Types that a document may have too, with what the tool does beyond a document.
_CALL_BY_TYPE = {
    "spec": (
        "A spec has an owner, versions, and readers that are told of changes",
        "memory_define_spec(name={title}, content=...)",
    ),
    "work_item": (
        "Work in progress is shown to the team",
        'memory_update_work(title={title}, status="in_progress")',
    ),
    "function_ref": (
        "A registered function is found by memory_find_function",
        'memory_register_function(name="...", file_path="path:line", purpose=...)',
    ),
    "handoff": (
        "A handoff is given to your next session",
        "memory_end_session(summary={title}, handoff_notes=...)",
    ),
}


def _resolve_type(value: Any) -> Any:
    """The type that a word means; a kind with a tool of its own is refused."""
    if not isinstance(value, str):
        return value
    word = value.strip().lower()
    if call := _CALL_BY_KIND.get(word):
        raise InvalidValue("is not a type of documents, but has its own tool", f"Call {call}")
    return TYPE_BY_OTHER_NAME.get(word, value)


StoredType = Annotated[DocumentType, BeforeValidator(_resolve_type)]


def advise_own_tool(type_: str, title: str) -> str:
    """Which call serves this type better than a document, or an empty text."""
    if type_ not in _CALL_BY_TYPE:
        return ""
    reason, call = _CALL_BY_TYPE[type_]
    return f"Stored as a document. {reason}: {call.format(title=msgspec.json.encode(title).decode())}"
