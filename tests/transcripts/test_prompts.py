"""What people said among what programs wrote, and what they took back."""

import codecs

import pytest
import samples

from commonplace.transcripts.reader import TranscriptReader


def read_utterances(lines: list[bytes]) -> list[tuple[int, str, str, str]]:
    return [(each.line, each.role, each.text, each.tool) for each in TranscriptReader().read(0, lines)]


def title_of(line: bytes) -> str:
    reader = TranscriptReader()
    reader.read(0, [line])
    return reader.build_summary().title


@pytest.mark.parametrize(
    "words",
    [
        "<ide_opened_file>The user opened cart.py.</ide_opened_file>\nFix it",
        "<ide_selection>a < b\n</ide_selection>\nFix it",
        "<task-notification>\n<status>done</status></task-notification> Fix it",
        "<local-command-stdout>ok</local-command-stdout>\n<bash-input>ls</bash-input>Fix it",
        "[Request interrupted by user for tool use]\nFix it",
    ],
)
def test_claude_keeps_what_a_person_said_beside_what_the_program_wrote(words: str):
    written, _, rest = words.partition("Fix")
    blocks = samples.claude_line(
        "user", {"role": "user", "content": [samples.text_block(written), samples.text_block(f"Fix{rest}")]}
    )
    for line in (samples.claude_prompt(words), blocks):
        assert read_utterances([line]) == [(0, "user", "Fix it", "")]
        assert title_of(line) == "Fix it"


def test_claude_leaves_an_element_that_is_not_closed_to_the_person():
    assert read_utterances([samples.claude_prompt("Why is <system-reminder> shown?")]) == [
        (0, "user", "Why is <system-reminder> shown?", "")
    ]


def test_claude_shows_what_a_person_said_beside_the_result_of_a_tool():
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "ok", "is_error": False}
    mixed = {"role": "user", "content": [block, samples.text_block("Rename the module too")]}
    lines = [
        samples.claude_answer(samples.tool_use_block("t1", "Bash", command="make"), n=1),
        samples.claude_line("user", mixed, 2, toolUseResult={"stdout": "ok"}),
        samples.claude_line("user", mixed, 3, isMeta=True),
    ]
    assert read_utterances(lines) == [(0, "tool", "make", "Bash"), (1, "user", "Rename the module too", "")]


def test_claude_shows_what_a_person_said_when_they_refused_a_call():
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. "
    lines = [
        *samples.claude_command(1, "pip install x", f"{refused}STOP what you are doing.", failed=True),
        *samples.claude_command(
            3, "pip install x", f"{refused}To tell you how to proceed, the user said:\nuse uv", failed=True
        ),
    ]
    assert read_utterances(lines) == [
        (0, "tool", "pip install x", "Bash"),
        (2, "tool", "pip install x", "Bash"),
        (3, "user", "use uv", ""),
    ]


EDITED = [
    samples.claude_prompt("Why is the cart empty?", 1, parentUuid="u0"),
    samples.claude_answer(samples.text_block("It is not."), n=2),
    samples.claude_prompt("Look again", 3),
    samples.claude_answer(samples.text_block("Still not."), n=4),
    samples.claude_prompt("Why is the basket empty?", 5, parentUuid="u0"),
    samples.claude_answer(samples.text_block("It is cleared twice."), n=6),
]
REWOUND = [
    samples.json_line(sessionId="9e", projectHash="ab", kind="main"),
    samples.gemini_line("user", "m1", "Hello", 1),
    samples.gemini_line("gemini", "m2", "Good day", 2),
    samples.gemini_line("user", "m3", "List the files", 3),
    samples.gemini_line("gemini", "m4", "Which?", 4),
    samples.json_line(**{"$rewindTo": "m3"}),
    samples.gemini_line("user", "m5", "List the tests", 5),
]


def list_abandoned_lines(lines: list[bytes], page: int) -> list[int]:
    """The lines that a chat marks which reads so many lines at a time."""
    state = b""
    for number, line in enumerate(lines):
        reader = TranscriptReader(state)
        reader.read(number, [line])
        state = reader.encode_state()
    pages = [
        TranscriptReader.for_pages(state).read(at, lines[at : at + page]) for at in range(0, len(lines), page)
    ]
    return [each.line for page in pages for each in page if each.abandoned]


@pytest.mark.parametrize("page", [1, 2, 100])
def test_turns_that_were_taken_back_are_marked_on_every_page(page: int):
    assert list_abandoned_lines(EDITED, page) == [0, 1, 2, 3]
    assert list_abandoned_lines(REWOUND, page) == [3, 4]


def test_calls_side_by_side_and_lines_told_twice_abandon_nothing():
    call = samples.claude_answer(samples.tool_use_block("t1", "Bash", command="ls"), n=2)
    other = samples.claude_answer(samples.tool_use_block("t2", "Bash", command="pwd"), n=3)
    first = samples.claude_line(
        "user",
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]},
        4,
        parentUuid="u2",
    )
    second = samples.claude_prompt("Go on", 5, parentUuid="u2")
    assert (
        list_abandoned_lines(
            [samples.claude_prompt("Look", 1, parentUuid="u0"), call, other, first, second, second], 100
        )
        == []
    )


def test_prompt_that_was_edited_twice_leaves_the_last():
    lines = [samples.claude_prompt(f"Try {n}", n, parentUuid="u0") for n in range(1, 4)]
    assert list_abandoned_lines([*lines, samples.claude_answer(samples.text_block("Done."), n=4)], 2) == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    "text",
    [
        b'{"role": "user", "content": "Hello"}',
        b'{\n"messages": [\n{\n"type": "user",\n"content": "Hello"\n}\n]\n}',
    ],
)
def test_reader_reads_a_first_line_after_a_byte_order_mark(text: bytes):
    found = TranscriptReader()
    heard = found.read(0, (codecs.BOM_UTF8 + text).split(b"\n"))
    assert [each.text for each in heard] == ["Hello"]
    assert found.build_summary().skipped_lines == 0
