"""Lines of transcripts: masked in place or shorter, always valid JSON, and masked once for all."""

import json

import pytest
from corpus import SHAPES, is_masked, read_innocent_lines, read_secret_lines

from commonplace.masking.session_ids import digest_from_session_id, hash_session_id, mask_session_ids
from commonplace.masking.transcript_lines import (
    mask_line,
    mask_line_in_place,
    mask_lines_for_reading,
    mask_lines_in_place,
    matches_masked,
)

SESSION = "shop_alice@laptop_" + "0123456789abcdef" * 2 + "04"


def transcript_line(text: str) -> bytes:
    return json.dumps({"type": "user", "text": text}, ensure_ascii=False).encode()


@pytest.mark.parametrize("shape", SHAPES)
def test_masking_in_place_keeps_length_json_and_finds_what_masking_finds(shape: str):
    for line in read_secret_lines():
        before = transcript_line(SHAPES[shape](line.line))
        after = mask_line_in_place(before).content
        assert len(after) == len(before)
        assert json.loads(after)["type"] == "user"
        if is_masked(mask_line(before).content.decode(), line):
            assert is_masked(after.decode(), line), line.template
        assert matches_masked(before, after, 0), line.template


def test_masking_again_changes_nothing():
    changed = []
    for line in read_secret_lines():
        for mask in (mask_line, mask_line_in_place):
            once = mask(transcript_line(line.line)).content
            if mask_line_in_place(once).content != once:
                changed.append((line.template, once))
    assert changed == []


def test_innocent_lines_stay():
    lines = [transcript_line(line.line) for line in read_innocent_lines()]
    changed = sum(mask_line_in_place(line).content != line for line in lines)
    assert changed <= 0.01 * len(lines)


def test_reader_sees_the_kind_without_asterisks():
    line = transcript_line("use ghp_" + "a1B2" * 9)
    assert list(mask_lines_for_reading(line)) == [transcript_line("use [masked: github token]")]


def test_lines_between_two_records_are_masked_together_and_the_rest_is_left():
    key = [b"-----BEGIN PRIVATE KEY-----", *[b"MIIE" + b"abcdEFGH1234" * 5] * 3, b"-----END PRIVATE KEY-----"]
    record = transcript_line("use ghp_" + "a1B2" * 9)
    lines = [record, b"", *key, record, record, b"", *key]
    content = b"\n".join(lines)
    end = len(b"\n".join(lines[:8]))
    masked = mask_lines_in_place(content, end)
    assert (len(masked.content), masked.content[end:]) == (len(content), content[end:])
    assert b"MIIE" not in masked.content[:end]
    assert b"ghp_" not in masked.content[:end]
    assert (masked.counts, masked.changed_lines) == ({"github token": 2, "private key": 1}, 7)


def test_lines_without_secrets_are_not_copied():
    content = b"\n".join([transcript_line("nothing to hide"), b"plain", b""])
    assert mask_lines_in_place(content).content is content


def test_mask_that_would_break_json_keeps_it_valid():
    line = b'{"a":"-----BEGIN PRIVATE KEY-----\\nMIIEabcdefgh","b":[1,"MIIEijklmnop\\n-----END PRIVATE KEY-----"]}'
    after = mask_lines_in_place(line + b"\n" + line).content
    assert len(after) == 2 * len(line) + 1
    assert b"MIIE" not in after
    for each in after.split(b"\n"):
        json.loads(each)


def test_session_id_is_replaced_by_its_digest():
    masked, count = mask_session_ids(f'the id "{SESSION}" and commit_{"ab" * 16}')
    assert (count, SESSION in masked, len(masked)) == (
        1,
        False,
        len(f'the id "{SESSION}" and commit_{"ab" * 16}'),
    )
    assert digest_from_session_id(masked.split('"')[1]) == hash_session_id(SESSION)
    assert mask_session_ids(masked) == (masked, 0)
