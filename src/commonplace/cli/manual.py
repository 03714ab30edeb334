"""`commonplace manual`: the manual page, from the texts of --help."""

import argparse
from collections.abc import Iterator, Sequence

from commonplace import __version__
from commonplace.cli.command import Command


def run(_arguments: argparse.Namespace) -> int:
    from commonplace.cli.parser import COMMANDS  # the table lists this command

    print(render_manual(COMMANDS))
    return 0


def render_manual(commands: Sequence[Command]) -> str:
    """The page in the macros of man(7)."""
    lines = [
        f'.TH COMMONPLACE 1 "" "Commonplace {__version__}" "User Commands"',
        ".SH NAME",
        r"commonplace \- shared memory and coordination for teams of AI coding agents",
        ".SH SYNOPSIS",
        r".B commonplace",
        ".I COMMAND",
        "[...]",
        ".SH DESCRIPTION",
        "One server that remembers for teams of AI coding agents and keeps them out of each other's way.",
        ".SH COMMANDS",
    ]
    for command in commands:
        for path, node in command.walk("commonplace"):
            lines += _render_command(path, node)
    lines += [".SH ENVIRONMENT", *_render_environment()]
    lines += [".SH EXIT STATUS", "0 on success; else the code of the refusal, which is printed with a hint."]
    return "\n".join(lines)


def _render_command(path: Sequence[str], command: Command) -> Iterator[str]:
    yield f".SS {_escape(' '.join(path))}"
    yield ".nf"
    yield from (_escape(line) for line in (command.text or command.help).splitlines())
    yield ".fi"
    for flag in command.list_flags():
        if not flag.help:
            continue
        value = f" {flag.metavar}" if flag.metavar else ""
        yield ".TP"
        yield f".B {_escape(', '.join(flag.names) + value)}"
        yield _escape(flag.help)


def _render_environment() -> Iterator[str]:
    for name, text in (
        ("COMMONPLACE_URL", "the server that the client commands use"),
        ("COMMONPLACE_KEY", "the key for it"),
        ("COMMONPLACE_HOME", "the folder of client state (~/.commonplace)"),
        ("COMMONPLACE_<FLAG>", "every flag of serve, such as COMMONPLACE_PORT"),
    ):
        yield from (".TP", f".B {name}", text)


def _escape(text: str) -> str:
    r"""Backslashes and hyphens are special; a line must not start with a dot or a quote."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
