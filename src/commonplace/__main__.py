"""The command line: `commonplace serve`, or another command."""

import gc
import sys

from commonplace.edges.cli.parser import parser


def main(argv: list[str] | None = None) -> int:
    """Run one command; what is refused goes to standard error with its hint, and gives its exit code."""
    # Importing makes nothing but lasting objects: looking through them for garbage costs a tenth of the start.
    gc.set_threshold(100_000, 50, 100)
    arguments = parser().parse_args(sys.argv[1:] if argv is None else argv)
    from commonplace import errors  # noqa: PLC0415 - --help should not wait for it

    try:
        return int(arguments.run(arguments))
    except errors.Refusal as refusal:
        print(f"commonplace: {refusal.message}", file=sys.stderr)
        if refusal.hint:
            print(f"  {refusal.hint}", file=sys.stderr)
        return refusal.exit_code
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
