"""The corpus of secret and innocent lines, in the shapes of transcripts: what must be masked, and what must not change."""

import pytest
from corpus import SHAPES, CorpusLine, is_masked, read_innocent_lines, read_secret_lines

from commonplace.masking import mask_secrets

SECRET_LINES = read_secret_lines()
INNOCENT_LINES = read_innocent_lines()
MIN_LINES = 300
MIN_MASKED = 0.95
MAX_CHANGED = 0.01


def list_failures(lines: list[CorpusLine], shape: str) -> list[str]:
    """The lines that are not treated as they should be: secrets that remain, or innocent lines that change."""
    failures = []
    for line in lines:
        text = SHAPES[shape](line.line)
        masked = mask_secrets(text).text
        if not (is_masked(masked, line) if line.secrets else masked == text):
            failures.append(line.template)
    return failures


def test_corpus_is_large_enough():
    assert len(SECRET_LINES) >= MIN_LINES
    assert len(INNOCENT_LINES) >= MIN_LINES


@pytest.mark.parametrize("shape", SHAPES)
def test_secrets_are_masked(shape: str):
    missed = list_failures(SECRET_LINES, shape)
    assert len(missed) <= (1 - MIN_MASKED) * len(SECRET_LINES), missed


@pytest.mark.parametrize("shape", SHAPES)
def test_innocent_lines_stay_as_they_are(shape: str):
    changed = list_failures(INNOCENT_LINES, shape)
    assert len(changed) <= MAX_CHANGED * len(INNOCENT_LINES), changed


KEY_LINES = [f"{letter * 8}+/{letter.upper() * 8}7Qk{letter * 40}" for letter in "abcdefghij"]
KEY_FILE = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "-----END RSA PRIVATE KEY-----"])


@pytest.mark.parametrize("prefix", ["{n:6d}→", "{n:6d}\t", "+", "> ", "{n}: ", "    | ", '  "', "- "])
@pytest.mark.parametrize("is_cut", [False, True])
def test_lines_of_a_key_file_are_masked_behind_every_prefix(prefix: str, *, is_cut: bool):
    lines = KEY_FILE.splitlines()[: -1 if is_cut else None]
    shown = "\n".join(prefix.format(n=n) + line for n, line in enumerate(lines, 1))
    for shape in SHAPES.values():
        masked = mask_secrets(shape(shown)).text
        assert not [line for line in KEY_LINES if line in masked]


def test_putty_key_is_masked():
    text = "Private-Lines: 2\n" + KEY_LINES[0] + "\n" + KEY_LINES[1] + "\nPrivate-MAC: " + "a1" * 20
    masked = mask_secrets(text).text
    assert KEY_LINES[0] not in masked
    assert KEY_LINES[1] not in masked
    assert "a1a1" not in masked
