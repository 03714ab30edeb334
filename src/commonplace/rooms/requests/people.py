"""Who may answer a request: a person, never the agent that asked.

While keys are on, a person's key has the role admin or owner, or is marked `person`. While they are off, every program of
this machine is the same caller, so only the page (with its cookie and CSRF token) and the operator's command line count.
A call that comes from an agent's window or names a session is an agent's, whatever its key.
"""

from commonplace import errors
from commonplace.access import Caller
from commonplace.call import Call
from commonplace.store.database import Row

_HINT = (
    "Answer on the page (`commonplace open`), with `commonplace answer` on the server's machine (`--data DIR` names its data"
    " folder), or with a key of a person (`key create --person`)."
)


def is_person(caller: Caller) -> bool:
    if caller.windows or caller.session:
        return False
    if caller.operator:
        return True
    if not caller.key:
        return caller.is_person
    return caller.is_persons_key or caller.has_role("admin")


def require_person(call: Call, request: Row) -> None:
    if not is_person(call.caller):
        raise errors.Forbidden("Only people answer requests of agents.", hint=_HINT)
    if call.caller.agent == request["agent"] and not call.caller.is_person:
        raise errors.Forbidden(f"{request['agent']} cannot answer its own request.", hint=_HINT)
