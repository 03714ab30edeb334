"""The parser reads ordinary lines as a shell would; that the gate refuses none is in hooks/test_ordinary_sessions.py."""

from ordinary_commands import list_ordinary_lines

from commonplace.client.git.shell_parser import parse_line

LINES = list_ordinary_lines()


def test_there_are_a_thousand_different_lines():
    assert (len(LINES), len({line for line, _ in LINES})) == (1000, 1000)


def test_parser_finds_the_programs_of_at_least_995_of_1000_lines():
    wrong = []
    for line, programs in LINES:
        parsed = parse_line(line, "/w")
        found = [str(command.words[0]) for command in parsed.commands if command.words]
        if sorted(found) != sorted(programs) or not parsed.is_complete:
            wrong.append((line, found, programs))
    assert len(wrong) <= 5, wrong
