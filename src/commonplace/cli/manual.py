"""`commonplace manual`: the manual page, from the texts of --help."""

import argparse
from collections.abc import Iterator

from commonplace import __version__
from commonplace.cli.command_tree import CommandNode, read_commands


def run(_arguments: argparse.Namespace) -> int:
    from commonplace.cli.parser import build_parser  # the parser lists this command

    print(render_manual(read_commands(build_parser())))
    return 0


def render_manual(commands: CommandNode) -> str:
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
        _escape(commands.help),
        ".SH COMMANDS",
    ]
    for node in commands.walk():
        if node.path:
            lines += _render_command(node)
    lines += [".SH ENVIRONMENT", *_render_environment()]
    lines += [".SH EXIT STATUS", "0 on success; else the code of the refusal, which is printed with a hint."]
    return "\n".join(lines)


def _render_command(node: CommandNode) -> Iterator[str]:
    yield f".SS {_escape(' '.join(('commonplace', *node.path)))}"
    yield ".nf"
    yield from (_escape(line) for line in node.description.splitlines())
    yield ".fi"
    for flag in node.flags:
        if "--help" in flag.names:
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
