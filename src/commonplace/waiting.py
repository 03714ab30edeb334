"""How an operation says that it has nothing to answer yet: `call.py` runs it again when something happened."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from commonplace.store.database import Work

if TYPE_CHECKING:
    from commonplace.call import Call


WaitSeconds = Annotated[int, Field(ge=0, le=60)]
"""The one bound of every argument `wait_seconds`."""


class WaitForEvents(Exception):
    """Nothing to answer yet: roll back, wait for an event of the project, run again; `answer` is the reply at the end.

    `write_between` is what every run would leave behind if it were not rolled back.
    """

    def __init__(
        self,
        call: "Call",
        answer: Any,
        seconds: float,
        write_at_end: Work[None] | None = None,
        *,
        write_at_start: Work[None] | None = None,
        write_between: Work[None] | None = None,
        ends_with_notice: bool = False,
    ) -> None:
        super().__init__()
        self.project, self.session = call.project, call.session
        self.answer, self.seconds = answer, seconds
        self.write_at_start, self.write_at_end = write_at_start, write_at_end
        self.write_between = write_between
        self.is_over = ends_with_notice and call.session is not None and call.session.has_notice


def describe_wait(call: "Call", seconds: int) -> str:
    """Say why a wait that ends with any news returned without what was waited for."""
    if call.session is not None and call.session.has_notice:
        return "The wait ended early, with other news: see _notice."
    return f"Nothing new in {seconds} s."
