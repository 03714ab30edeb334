"""The entry point: argv -> a quick command for agents, or the parser of `cli/`."""

import sys

# Commands that an agent waits for, by their first words: they start without building the parser.
QUICK_COMMANDS = {
    ("hook", "radar"): "commonplace.client.checkout.radar",
    ("hook", "--alone"): "commonplace.client.companion.program",
    ("hook",): "commonplace.client.hook",
    ("companion",): "commonplace.client.companion.resident",
    ("stdio",): "commonplace.client.commands.stdio",
    ("statusline",): "commonplace.client.commands.statusline",
    ("sync", "hook"): "commonplace.client.link.hook_command",
    ("guard", "check"): "commonplace.client.checkout.commit_hooks",
    ("guard", "committed"): "commonplace.client.checkout.commit_hooks",
}
_HELP_FLAGS = {"-h", "--help"}
_BROKEN_PIPE_EXIT = 141
"""As a shell counts a program that SIGPIPE ended."""


def main(argv: list[str] | None = None) -> int:
    """Run one command. A refusal is printed to standard error with its hint and sets the exit code."""
    given = sys.argv[1:] if argv is None else argv
    for words, module in QUICK_COMMANDS.items():
        if tuple(given[: len(words)]) == words and _HELP_FLAGS.isdisjoint(given):
            return int(__import__(module, fromlist=["main"]).main(given))
    return _run_parsed(given)


def _run_parsed(given: list[str]) -> int:
    import gc  # what is quick needs none of this

    from commonplace.cli.parser import build_parser

    # Imports create only lasting objects: collecting garbage among them costs a tenth of the start.
    gc.set_threshold(100_000, 50, 100)
    arguments = build_parser().parse_args(given)
    from commonplace import errors  # --help should not wait for it

    try:
        return int(arguments.run(arguments))
    except errors.Refusal as refusal:
        from commonplace.client.program import spell_commands

        print(spell_commands(f"commonplace: {refusal.message}"), file=sys.stderr)
        if refusal.hint:
            print(f"  {spell_commands(refusal.hint)}", file=sys.stderr)
        return refusal.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # who read our output has left, as `head` does
        _discard_output()
        return _BROKEN_PIPE_EXIT
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        print(f"commonplace: {error.strerror or error}{place}.", file=sys.stderr)
        return 1


def _discard_output() -> None:
    """Keep the interpreter from complaining at its end that what is left cannot be written."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
