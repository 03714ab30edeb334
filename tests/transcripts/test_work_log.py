"""What a session teaches: files, commands, errors with what followed, commits."""

import json

import pytest
import samples

from commonplace.journal.error_messages import find_errors, fingerprint_error
from commonplace.transcripts.reader import TranscriptReader

MISSING_MODULE_OUTPUT = "Exit code 1\nTraceback (most recent call last):\n  File \"/home/ann/app.py\", line 3\nModuleNotFoundError: No module named 'yaml'"


PATCH = "*** Begin Patch"
RUNNING = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess running with session ID 5\nOutput:\n"


def list_commands(reader: TranscriptReader) -> list[tuple[str, int, int, int | None]]:
    return [
        (each.command, each.runs, each.failures, each.exit_code) for each in reader.build_summary().commands
    ]


def list_commits(reader: TranscriptReader) -> list[tuple[str, str, str]]:
    return [(each.commit, each.branch, each.message) for each in reader.build_summary().commits]


def read_parts(*parts: list[bytes]) -> TranscriptReader:
    reader = TranscriptReader()
    reader.read(0, [line for part in parts for line in part])
    return reader


def test_error_tells_what_followed_until_the_command_passed():
    reader = read_parts(
        samples.claude_command(0, "python app.py", MISSING_MODULE_OUTPUT, failed=True),
        samples.claude_command(18, "cd /home/ann && cat requirements.txt", ""),
        samples.claude_command(2, "pip install pyyaml", "Successfully installed pyyaml"),
        samples.claude_edit(4, "/home/ann/requirements.txt"),
        samples.claude_command(6, "cd /home/ann && python app.py --verbose", "started"),
    )
    [problem] = reader.build_summary().errors
    assert (problem.text, problem.command, problem.line, problem.times) == (
        "ModuleNotFoundError: No module named 'yaml'",
        "python app.py",
        1,
        1,
    )
    assert (problem.fixed_line, problem.followed_by) == (
        9,
        ["pip install pyyaml", "edit /home/ann/requirements.txt"],
    )


def test_error_that_gives_way_to_another_counts_as_settled():
    other = "Exit code 1\nValueError: bad port"
    reader = read_parts(
        samples.claude_command(0, "python app.py", MISSING_MODULE_OUTPUT, failed=True),
        samples.claude_command(2, "pip install pyyaml", "ok"),
        samples.claude_command(4, "python app.py", other, failed=True),
    )
    by_text = {each.text: each for each in reader.build_summary().errors}
    assert by_text["ModuleNotFoundError: No module named 'yaml'"].followed_by == ["pip install pyyaml"]
    assert by_text["ValueError: bad port"].fixed_line == 0


def test_error_met_twice_is_one_with_its_count():
    reader = read_parts(
        samples.claude_command(0, "pytest tests/test_a.py", MISSING_MODULE_OUTPUT, failed=True),
        samples.claude_command(
            2, "pytest tests/test_a.py -x", MISSING_MODULE_OUTPUT.replace("line 3", "line 7"), failed=True
        ),
    )
    assert [(each.times, each.fixed_line) for each in reader.build_summary().errors] == [(2, 0)]


def test_error_behind_a_pipe_is_seen_though_the_exit_code_hides_it():
    output = "Traceback (most recent call last):\nKeyError: 'port'"
    reader = read_parts(samples.claude_command(0, "python app.py 2>&1 | tail -5", output))
    assert [each.text for each in reader.build_summary().errors] == ["KeyError: 'port'"]


def test_problems_are_told_once_and_again_when_they_are_settled():
    reader = TranscriptReader()
    reader.read(0, samples.claude_command(0, "python app.py", MISSING_MODULE_OUTPUT, failed=True))
    [met] = reader.take_changed_errors()[0]
    assert reader.take_changed_errors() == ([], [])
    assert met.fixed_line == 0
    again = TranscriptReader(reader.encode_state())
    again.read(
        2,
        [
            *samples.claude_command(2, "pip install pyyaml", "ok"),
            *samples.claude_command(4, "python app.py", "ok"),
        ],
    )
    [settled] = again.take_changed_errors()[0]
    assert (settled.fingerprint, settled.fixed_line) == (met.fingerprint, 5)


def test_call_that_a_person_refused_is_no_error():
    refused = "The user doesn't want to proceed with this tool use."
    assert (
        read_parts(samples.claude_command(0, "rm -r build", refused, failed=True)).build_summary().errors
        == []
    )


def test_error_of_a_misused_tool_is_its_first_line():
    misused = "<tool_use_error>String to replace not found in file.\nString: x = 1</tool_use_error>"
    call = [
        samples.claude_answer(samples.tool_use_block("e", "Edit", file_path="/a/x.py")),
        samples.claude_tool_result("e", misused, failed=True),
    ]
    assert [each.text for each in read_parts(call).build_summary().errors] == [
        "String to replace not found in file."
    ]


def test_command_that_passed_has_no_other_exit_code_whatever_it_printed():
    reader = read_parts(
        samples.claude_command(0, "grep -r code .", "docs.md: exit code 3 means that nothing was found")
    )
    assert list_commands(reader) == [("grep -r code .", 1, 0, 0)]


def test_commands_are_counted_with_their_exit_codes():
    reader = read_parts(
        samples.claude_command(0, "make", "Exit code 2\nmake: *** [all] Error 1", failed=True),
        samples.claude_command(2, "make", "done"),
        samples.claude_command(4, "ls", "a"),
    )
    assert list_commands(reader) == [("make", 2, 1, 0), ("ls", 1, 0, 0)]


def test_files_are_counted_by_reads_and_edits():
    look = [
        samples.claude_answer(samples.tool_use_block("r", "Read", file_path="/a/x.py"), n=9),
        samples.claude_tool_result("r", "x", 9),
    ]
    reader = read_parts(samples.claude_edit(0, "/a/x.py"), look, samples.claude_edit(4, "/a/y.py"))
    assert [(file.path, file.reads, file.edits) for file in reader.build_summary().files] == [
        ("/a/x.py", 1, 1),
        ("/a/y.py", 0, 1),
    ]


def claude_call(tool: str, output: str, *, failed: bool = False) -> list[bytes]:
    return [
        samples.claude_answer(samples.tool_use_block("e", tool, file_path="/a/x.py")),
        samples.claude_tool_result("e", output, failed=failed),
    ]


def test_file_whose_edit_failed_was_not_edited():
    unfit = {"output": "apply_patch verification failed: no such lines", "call_id": "p"}
    patch = {"name": "apply_patch", "call_id": "p", "input": f"{PATCH}\n*** Update File: a.py"}
    gemini = {
        "id": "c1",
        "name": "replace",
        "args": {"file_path": "a.py"},
        "result": [{"functionResponse": {"response": {"error": "0 occurrences found"}}}],
    }
    for lines in (
        claude_call("MultiEdit", "<tool_use_error>String not found.</tool_use_error>", failed=True),
        claude_call("Edit", "The user doesn't want to proceed with this tool use.", failed=True),
        [
            samples.codex_line("response_item", 1, type="custom_tool_call", **patch),
            samples.codex_line("response_item", 2, type="custom_tool_call_output", **unfit),
        ],
        [samples.gemini_line("gemini", "m1", "", 1, toolCalls=[gemini | {"status": "error"}])],
        [samples.gemini_line("gemini", "m1", "", 1, toolCalls=[gemini | {"status": "cancelled"}])],
    ):
        assert read_parts(lines).build_summary().files == []


def test_error_of_an_edit_names_the_tool_and_the_file():
    [problem] = read_parts(claude_call("Edit", "String not found.", failed=True)).build_summary().errors
    assert problem.command == "Edit /a/x.py"


def test_step_that_patched_files_names_them_all_and_a_failed_edit_is_none():
    patch = samples.tool_use_block(
        "p", "apply_patch", command=f"{PATCH}\n*** Update File: a.py\n*** Add File: b.py"
    )
    reader = read_parts(
        samples.claude_command(0, "make", "Exit code 2\nValueError: odd", failed=True),
        claude_call("Edit", "String not found.", failed=True),
        [samples.claude_answer(patch), samples.claude_tool_result("p", "Done")],
        samples.claude_command(2, "make", "built"),
    )
    assert reader.build_summary().errors[0].followed_by == ["edit a.py, b.py"]


def test_exit_code_is_not_invented():
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "make"}'}}
    plain = [
        samples.json_line(role="assistant", content=None, tool_calls=[call]),
        samples.json_line(role="tool", tool_call_id="c1", content="make: *** No rule to make target 'x'."),
    ]
    shell = {"name": "shell", "arguments": '{"command":["make"]}', "call_id": "a"}
    codex = [
        samples.codex_line("response_item", 1, type="function_call", **shell),
        samples.codex_line("response_item", 2, type="function_call_output", call_id="a", output=RUNNING),
    ]
    behind = samples.claude_command(0, "make", "Command running in background with ID: b1")
    for lines in (plain, codex, behind):
        assert list_commands(read_parts(lines)) == [("make", 1, 0, None)]


def test_command_that_still_runs_has_not_overcome_its_error():
    reader = read_parts(
        samples.claude_command(0, "make", "Exit code 2\nValueError: odd", failed=True),
        samples.claude_edit(2, "/a/x.py"),
        samples.claude_command(4, "make", "Command running in background with ID: b1"),
    )
    assert [each.fixed_line for each in reader.build_summary().errors] == [0]


def test_commits_are_known_by_what_git_printed():
    output = "[main 1a2b3c4] Clear the cart once\n 1 file changed, 2 insertions(+)"
    reader = read_parts(
        samples.claude_command(0, 'git add -A && git commit -m "Clear the cart once"', output)
    )
    assert list_commits(reader) == [("1a2b3c4", "main", "Clear the cart once")]


@pytest.mark.parametrize(
    "output",
    [
        json.dumps({"output": "ImportError: no", "metadata": {"exit_code": 3, "duration_seconds": 0.1}}),
        "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nImportError: no",
        "Exit code: 3\nWall time: 1 seconds\nOutput:\nImportError: no",
    ],
)
def test_codex_exit_codes_are_read_in_every_shape(output: str):
    call = {"type": "function_call", "name": "shell", "arguments": '{"command":["make"]}', "call_id": "a"}
    lines = [
        samples.codex_line("response_item", 1, **call),
        samples.codex_line("response_item", 2, type="function_call_output", call_id="a", output=output),
    ]
    reader = read_parts(lines)
    assert list_commands(reader) == [("make", 1, 1, 3)]
    assert [each.text for each in reader.build_summary().errors] == ["ImportError: no"]


def test_codex_command_of_a_script_counts_once():
    item = {
        "type": "CommandExecution",
        "id": "b",
        "command": "git commit -m x",
        "exit_code": 0,
        "aggregated_output": "[main def5678] x",
    }
    lines = [samples.codex_line("event_msg", n, type="item_completed", item=item) for n in range(2)]
    summary = read_parts(lines).build_summary()
    assert [(each.command, each.runs) for each in summary.commands] == [("git commit -m x", 1)]
    assert [each.commit for each in summary.commits] == ["def5678"]


def test_gemini_shell_failure_is_an_error():
    call = {
        "id": "c1",
        "name": "run_shell_command",
        "args": {"command": "npm test"},
        "status": "success",
        "result": [
            {
                "functionResponse": {
                    "response": {"output": "Output: Error: Cannot find module 'left-pad'\nExit Code: 1"}
                }
            }
        ],
    }
    lines = [samples.gemini_line("gemini", "m1", "", 1, toolCalls=[call])]
    reader = read_parts(lines)
    assert list_commands(reader) == [("npm test", 1, 1, 1)]
    assert [each.text for each in reader.build_summary().errors] == ["Error: Cannot find module 'left-pad'"]


TRAILER = "Error: (none)\nExit Code: {}\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 71"


@pytest.mark.parametrize(
    ("output", "code", "errors"),
    [
        ("Output: bash: foo: command not found\nExit Code: 127", 127, ["foo: command not found"]),
        ("Output: TypeError: x is not a function\nExit Code: 1", 1, ["TypeError: x is not a function"]),
        (
            "Command: make\nDirectory: (root)\nStdout: (empty)\nStderr: make: *** No rule to make target 'x'.\n"
            + TRAILER.format(2),
            2,
            ["make: *** No rule to make target 'x'."],
        ),
        (
            f"Command: a\nb\nDirectory: x\nOutput: {MISSING_MODULE_OUTPUT[12:]}\n" + TRAILER.format(1),
            1,
            [MISSING_MODULE_OUTPUT[-43:]],
        ),
        ("Output: (empty)\nExit Code: 1", 1, []),
        ("Output: (empty)\nError: spawn /bin/sh ENOENT\nSignal: 9", None, ["Error: spawn /bin/sh ENOENT"]),
        ("Output: Error: all is well\nProcess Group PGID: 71", 0, []),
        ("Command: make\nDirectory: x\nOutput: ok\n" + TRAILER.format(0), 0, []),
        ("Command moved to background (PID: 71). Output hidden.", None, []),
    ],
)
def test_gemini_report_of_a_command_is_read_without_its_labels(
    output: str, code: int | None, errors: list[str]
):
    call = {
        "id": "c1",
        "name": "run_shell_command",
        "args": {"command": "make"},
        "status": "success",
        "result": [{"functionResponse": {"response": {"output": output}}}],
    }
    summary = read_parts([samples.gemini_line("gemini", "m1", "", 1, toolCalls=[call])]).build_summary()
    assert [each.text for each in summary.errors] == errors
    assert [each.exit_code for each in summary.commands] == [code]


SAME_ERRORS = [
    ("KeyError: 'user_4242'", "KeyError: 'user_17'"),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/a/x.txt'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/home/b.txt'",
    ),
    (
        "panic: runtime error: index out of range [5] with length 3",
        "panic: runtime error: index out of range [9] with length 4",
    ),
    ("Error: connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED 10.0.0.7:5433"),
    ("RuntimeError: at 0x7f3a2b failed after 12.5s", "RuntimeError: at 0x11aa9c failed after 3.25s"),
    (
        "src/a.c:10:5: error: use of undeclared identifier 'x'",
        "lib/b.c:7:1: error: use of undeclared identifier 'x'",
    ),
    ("E   ValueError: bad", "ValueError: bad"),
    ("bash: line 1: jq: command not found", "zsh: command not found: jq"),
    ("/bin/sh: 1: jq: not found", "bash: jq: command not found"),
    ("TimeoutError: 2026-08-20T10:00:00Z gave up", "TimeoutError: 2025-01-02T03:04:05Z gave up"),
    ("HTTPError: 404 for url: https://a.example/x?y=1", "HTTPError: 404 for url: https://b.example/z"),
    (
        "thread 'main' panicked at src/main.rs:2:5:\nno entry found",
        "thread 'main' panicked at src/lib.rs:9:9:\nno entry found",
    ),
    (
        'Exception in thread "main" java.lang.IllegalStateException: no session',
        "Caused by: java.lang.IllegalStateException: no session",
    ),
    (
        "src/a.ts(3,5): error TS2304: Cannot find name 'foo'.",
        "src/b.ts:9:1 - error TS2304: Cannot find name 'foo'.",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME_ERRORS)
def test_fingerprint_is_the_same_wherever_and_whenever_it_was_met(one: str, other: str):
    assert [each.fingerprint for each in find_errors(one, failed=True)] == [
        each.fingerprint for each in find_errors(other, failed=True)
    ]


DIFFERENT_ERRORS = [
    ("ModuleNotFoundError: No module named 'yaml'", "ModuleNotFoundError: No module named 'toml'"),
    ("Error: Cannot find module '@a/b'", "Error: Cannot find module '@a/c'"),
    (
        "error[E0425]: cannot find value `x` in this scope",
        "error[E0433]: cannot find value `x` in this scope",
    ),
    ("./main.go:5:2: undefined: foo", "./main.go:5:2: undefined: bar"),
    ("TypeError: 'int' object is not callable", "TypeError: 'str' object is not callable"),
    ("bash: jq: command not found", "bash: yq: command not found"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT_ERRORS)
def test_fingerprint_tells_errors_apart_that_need_another_remedy(one: str, other: str):
    assert [each.fingerprint for each in find_errors(one, failed=True)] != [
        each.fingerprint for each in find_errors(other, failed=True)
    ]


def test_errors_of_a_failure_without_a_known_shape_are_its_last_line():
    assert [each.text for each in find_errors("starting\nthe disk is full\n\n", failed=True)] == [
        "the disk is full"
    ]
    assert find_errors("starting\nall is well", failed=False) == []


@pytest.mark.parametrize(
    "output",
    ["Exit code 1", "Exit code: 1\nWall time: 0.1 seconds\nOutput:\n", "Error: (none)\nExit Code: 1"],
)
def test_errors_of_a_failure_that_said_nothing_are_none(output: str):
    assert find_errors(output, failed=True) == []


def test_errors_name_the_cause_before_the_tests_that_failed_of_it():
    output = "E   ImportError: no\n=== short test summary info ===\nFAILED tests/test_a.py::test_b - ImportError: no"
    assert [each.text for each in find_errors(output, failed=True)] == [
        "ImportError: no",
        "tests/test_a.py::test_b - ImportError: no",
    ]


def test_fault_of_a_question_is_found_by_the_same_fingerprint():
    [met] = find_errors(MISSING_MODULE_OUTPUT, failed=True)
    assert fingerprint_error("ModuleNotFoundError: No module named 'yaml'").fingerprint == met.fingerprint


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("python app.py", "pip install pyyaml && python app.py"),
        ("pytest tests/test_a.py", "pytest tests"),
        ("pytest tests/test_a.py::test_one", "pytest tests/test_a.py"),
        ("python -m pytest tests/test_a.py -q", "pytest"),
        ("pytest tests/test_a.py", "make test"),
        ("npx tsc --noEmit", ".venv/bin/tsc"),
    ],
)
def test_error_is_fixed_by_a_chained_or_a_wider_run(failing: str, passing: str):
    reader = read_parts(
        samples.claude_command(0, failing, MISSING_MODULE_OUTPUT, failed=True),
        samples.claude_edit(2, "/home/ann/app.py"),
        samples.claude_command(4, passing, "ok"),
    )
    [problem] = reader.build_summary().errors
    steps = ["edit /home/ann/app.py", *([passing] if "&&" in passing else [])]
    assert (problem.fixed_line, problem.followed_by) == (5, steps)


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("pytest tests/test_a.py", "pytest tests/test_b.py"),
        ("pytest tests/test_a.py", "pytest -k other"),
        ("python app.py", "python other.py"),
        ("python app.py", "python"),
        ("pytest tests/test_a.py", "ruff check"),
    ],
)
def test_error_is_not_fixed_by_a_run_of_something_else(failing: str, passing: str):
    reader = read_parts(
        samples.claude_command(0, failing, MISSING_MODULE_OUTPUT, failed=True),
        samples.claude_edit(2, "/home/ann/app.py"),
        samples.claude_command(4, passing, "ok"),
    )
    assert [problem.fixed_line for problem in reader.build_summary().errors] == [0]


def test_error_with_a_common_reason_keeps_the_words_before_it_and_the_fingerprint_of_the_reason():
    socket = (
        'psql: error: connection to server on socket "/tmp/.s.PGSQL.5432" failed: No such file or directory'
    )
    (error,) = find_errors(socket, failed=True)
    (other,) = find_errors("cat: notes.txt: No such file or directory", failed=True)
    assert error.text == socket
    assert error.fingerprint == other.fingerprint
