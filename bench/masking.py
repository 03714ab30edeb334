"""python -m bench.masking: our masking of secrets beside detect-secrets, on the corpus of tests/masking, in every shape.

Masked: secret lines in which no secret remains. Changed: innocent lines that are not what they were. For detect-secrets,
every value that it reports in a line is replaced. MB/s by CPU time in this run: read them as a ratio.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from detect_secrets.core.scan import scan_file
from detect_secrets.settings import default_settings

from bench.tables import print_table
from commonplace.masking import mask_secrets

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "masking"))

from corpus import SHAPES, CorpusLine, is_masked, read_innocent_lines, read_secret_lines

_SPEED_CHARACTERS = 200_000

Mask = Callable[[str], str]


def mask_ours(text: str) -> str:
    return mask_secrets(text).text


def mask_with_detect_secrets(text: str) -> str:
    """With its default plugins and filters, as it reads files; a search for single lines reports nearly all of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript.txt"
        path.write_text(text, encoding="utf-8")
        values = {found.secret_value for found in scan_file(str(path)) if found.secret_value}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "[masked]")
    return text


def measure_shares(
    mask: Mask, shape: str, secrets: list[CorpusLine], innocent: list[CorpusLine]
) -> list[str]:
    masked = sum(is_masked(mask(SHAPES[shape](line.line)), line) for line in secrets)
    changed = sum(mask(text) != text for text in (SHAPES[shape](line.line) for line in innocent))
    return [f"{masked / len(secrets):.1%}", f"{changed / len(innocent):.1%}"]


def measure_speed(mask: Mask, text: str) -> str:
    started = time.process_time()
    mask(text)
    return f"{len(text.encode()) / 1e6 / (time.process_time() - started):.2f}"


def main() -> None:
    secrets, innocent = read_secret_lines(), read_innocent_lines()
    pages = sorted((Path(__file__).parent.parent / "docs").rglob("*.md"))
    texts = {
        "documentation": "\n".join(page.read_text(encoding="utf-8") for page in pages)[:_SPEED_CHARACTERS],
        "lines of the corpus": "\n".join(line.line for line in [*innocent, *secrets]),
    }
    with default_settings():
        rows = [
            [
                shape,
                *measure_shares(mask_ours, shape, secrets, innocent),
                *measure_shares(mask_with_detect_secrets, shape, secrets, innocent),
            ]
            for shape in SHAPES
        ]
        speeds = [
            [kind, *(measure_speed(mask, text) for mask in (mask_ours, mask_with_detect_secrets))]
            for kind, text in texts.items()
        ]
    print_table(
        f"{len(secrets)} secret and {len(innocent)} innocent lines",
        ["shape", "masked", "changed", "detect-secrets: masked", "changed"],
        rows,
    )
    print_table("MB/s of CPU time", ["text", "ours", "detect-secrets"], speeds)


if __name__ == "__main__":
    main()
