"""A request to a person: its arguments, what is shown of it, and how rows become replies."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from commonplace.clock import MINUTE, SECOND, iso
from commonplace.operation import Reply
from commonplace.shortening import list_names, shorten_line
from commonplace.store.database import Row
from commonplace.waiting import WaitSeconds

RequestKind = Literal["permission", "question", "plan", "idle"]
RequestSource = Literal["hook", "agent"]
RequestDecision = Literal["allow", "deny", "answer"]
RequestId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="The request, from memory_list_requests or memory_report_request.",
    ),
]
RequestTitle = Annotated[
    str, Field(max_length=200, description="The tool that needs the permission, in short.")
]
RequestText = Annotated[str, Field(max_length=20_000, description="The command, plan or message, verbatim.")]
QuestionText = Annotated[str, Field(min_length=1, max_length=4_000)]
OptionText = Annotated[str, Field(min_length=1, max_length=500)]
OptionTexts = Annotated[list[OptionText], Field(max_length=12, description="To choose from.")]
AnswerTexts = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=4_000)]],
    Field(
        max_length=10,
        description="One text for each question: an option's label, several separated by commas, or free text.",
    ),
]
AnswerNote = Annotated[
    str, Field(max_length=4_000, description="A text for the agent, such as the reason of a denial.")
]
ShownHash = Annotated[
    str,
    Field(
        min_length=16,
        max_length=64,
        pattern=r"^[0-9a-f]+$",
        description="The `shown` of the request as it was displayed: the answer counts only for that.",
    ),
]
SubagentName = Annotated[
    str,
    Field(max_length=200, description="The sub-agent that it is about; empty for the conversation itself."),
]
ToolName = Annotated[str, Field(max_length=64, description="The agent program, such as claude.")]
MachineName = Annotated[str, Field(max_length=200, description="The machine that it runs on.")]
FolderPath = Annotated[str, Field(max_length=4_096, description="The folder that it runs in.")]
RequestStates = Literal["open", "answered", "closed", "all"]
RequestLimit = Annotated[int, Field(ge=1, le=200)]
AnswerWaitSeconds = WaitSeconds

MAX_OPEN_PER_SESSION = 20
POLL_PATIENCE = MINUTE
"""A program that asked for the answer within this time still waits for it."""
IDLE_PATIENCE = 5 * SECOND
"""Activity this long after the end of a turn means that the agent works again."""
MAX_SHOWN_QUESTION_CHARACTERS = 200
_SHOWN_CHARACTERS = 32
_MAX_PEOPLE_NAMED = 3
_SESSION_CHARACTERS = 8
_WORD = re.compile(r"\w+")


class GivenOption(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: OptionText
    description: Annotated[str, Field(max_length=1_000)] = ""


class GivenQuestion(BaseModel):
    """One question of a dialog, with the options that it offers."""

    model_config = ConfigDict(extra="forbid")

    question: QuestionText
    options: Annotated[list[GivenOption], Field(max_length=12)] = []
    multiple: bool = False


GivenQuestions = Annotated[
    list[GivenQuestion], Field(max_length=10, description="The questions of the dialog, with their options.")
]


class RequestOption(Reply):
    label: str
    description: str = ""


class RequestQuestion(Reply):
    question: str
    options: list[RequestOption] = []
    multiple: bool = False


class RequestDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A request before it has an id."""

    kind: RequestKind
    source: RequestSource
    agent: str
    tool: str = ""
    machine: str = ""
    directory: str = ""
    title: str = ""
    body: str = ""
    questions: list[RequestQuestion] = []
    subagent: str = ""

    @property
    def shown(self) -> str:
        """A hash of everything that a person is shown; an answer names it, so that it is bound to what was read."""
        fields = (
            self.kind,
            self.agent,
            self.tool,
            self.machine,
            self.directory,
            self.title,
            self.body,
            self.questions,
        )
        return hashlib.sha256(msgspec.json.encode(fields)).hexdigest()[:_SHOWN_CHARACTERS]


class PersonRequest(Reply):
    """What waits for a person. `shown` is sent back with the answer; `can_answer` says whether one would arrive."""

    id: str
    project: str
    kind: str
    status: str
    agent: str
    since: str
    shown: str
    can_answer: bool = False
    session: str = ""
    title: str = ""
    text: str = ""
    questions: list[RequestQuestion] = []
    tool: str = ""
    machine: str = ""
    directory: str = ""
    tmux_target: str = ""
    decision: str = ""
    answers: list[str] = []
    note: str = ""
    answered_by: str = ""
    answered_at: str = ""


class RequestListing(Reply):
    count: int
    requests: list[PersonRequest]


class ReportedRequest(Reply):
    status: str
    request_id: str = ""


class RequestAnswer(Reply):
    """`status`: open, answered or closed; the rest is the answer."""

    status: str
    request_id: str
    decision: str = ""
    answers: list[str] = []
    note: str = ""
    answered_by: str = ""


class AnsweredRequest(Reply):
    status: str
    request_id: str
    agent: str


class ClosedRequests(Reply):
    closed: int


class OpenQuestion(Reply):
    """A question of an agent that is stored; `reach` says in words which people can see it."""

    status: str
    request_id: str
    reach: str


def describe_reach(people: Sequence[str], *, has_webhook: bool) -> str:
    """`people` are signed in to the page of the project; that says nothing about whether they look at it now."""
    ways = [f"{list_names(people, _MAX_PEOPLE_NAMED)} on the page"] if people else []
    ways += ["people whom a webhook tells"] if has_webhook else []
    if not ways:
        return (
            "Nobody is signed in to the page and no webhook tells anybody: ask in your own conversation, too."
        )
    return f"It can be seen by {' and '.join(ways)}."


class AskedPerson(Reply):
    status: str
    request_id: str
    answer: str = ""
    answered_by: str = ""
    message: str = ""


def build_question(question: str, options: Sequence[str] | None) -> RequestQuestion:
    return RequestQuestion(question=question, options=[RequestOption(label=label) for label in options or []])


def find_same_question(rows: Iterable[Row], question: str, options: Sequence[str] | None) -> Row | None:
    """Find the request with these words and options; who repeats a question may leave its options out."""
    for row in rows:
        [asked] = decode_questions(row["questions"])
        labels = [option.label for option in asked.options]
        if asked.question == question and (not options or labels == list(options)):
            return row
    return None


def normalize_question(question: str) -> str:
    """The words of a question: who asks it again may write its case, spaces and punctuation in another way."""
    return " ".join(_WORD.findall(question.lower()))


def find_newest_answers(rows: Iterable[Row]) -> dict[str, str]:
    """The request with the newest answer to each question, from requests of which the newest comes first."""
    newest: dict[str, str] = {}
    for row in rows:
        newest.setdefault(normalize_question(decode_questions(row["questions"])[0].question), row["id"])
    return newest


def takes_answer(row: Row, now: int) -> bool:
    """Would an answer arrive? An agent's own question takes one at any time, a program's dialog while its hook waits."""
    if row["state"] != "open" or row["kind"] == "idle":
        return False
    return bool(row["source"] == "agent" or row["polled_at"] > now - POLL_PATIENCE)


def decode_questions(text: str) -> list[RequestQuestion]:
    return msgspec.json.decode(text, type=list[RequestQuestion])


def decode_answers(text: str) -> list[str]:
    return msgspec.json.decode(text, type=list[str])


def build_request(row: Row, now: int) -> PersonRequest:
    return PersonRequest(
        id=row["id"],
        project=row["project"],
        kind=row["kind"],
        status=row["state"],
        agent=row["agent"],
        since=iso(row["created_at"]),
        shown=row["shown"],
        can_answer=takes_answer(row, now),
        session=f"ses_{row['session'][:_SESSION_CHARACTERS]}",
        title=row["title"],
        text=row["body"],
        questions=decode_questions(row["questions"]),
        tool=row["tool"],
        machine=row["machine"],
        directory=row["directory"],
        tmux_target=row["tmux_target"] or "",
        decision=row["decision"],
        answers=decode_answers(row["answers"]),
        note=row["note"],
        answered_by=row["answered_by"],
        answered_at=iso(row["changed_at"]) if row["state"] == "answered" else "",
    )


def build_answer(row: Row) -> RequestAnswer:
    return RequestAnswer(
        status=row["state"],
        request_id=row["id"],
        decision=row["decision"],
        answers=decode_answers(row["answers"]),
        note=row["note"],
        answered_by=row["answered_by"],
    )


def format_questions(row: Row) -> str:
    """What a person is asked, with the options of each question."""
    lines = [row["body"]] if row["body"] else []
    for question in decode_questions(row["questions"]):
        lines.append(question.question)
        lines += [
            f"- {option.label}{f': {option.description}' if option.description else ''}"
            for option in question.options
        ]
    return "\n".join(lines)


def format_answer(row: Row) -> str:
    """The answer to an agent's question, as one text."""
    answers = decode_answers(row["answers"])
    texts = [*answers, row["note"]] if row["decision"] != "deny" else ["(declined to answer)", row["note"]]
    return "; ".join(text for text in texts if text)


def format_question_with_answer(row: Row) -> str:
    """The question of an agent and, if there is one, the answer and who gave it."""
    asked = format_questions(row)
    if row["state"] != "answered":
        return asked
    return f"{asked}\nAnswer of {row['answered_by']}: {format_answer(row)}"


def format_notice(row: Row) -> str:
    """What an agent that no longer waits is told."""
    question = decode_questions(row["questions"])[0].question
    return f'{row["answered_by"]} answered "{shorten_line(question, MAX_SHOWN_QUESTION_CHARACTERS)}" ({row["id"]}): {format_answer(row)}'
