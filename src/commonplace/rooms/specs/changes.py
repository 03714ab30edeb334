"""What changed between two versions of a spec: the fields and a short diff by lines for its readers, and one phrase for a
notice. `field_changes.py` compares the fields, `line_changes.py` the lines.
"""

import re
from collections.abc import Sequence

import msgspec

from commonplace.rooms.specs.field_changes import FieldChanges, find_field_changes
from commonplace.rooms.specs.fields import NO_SCHEMA
from commonplace.rooms.specs.line_changes import (
    ADDED,
    REMOVED,
    ChangedLine,
    LineChanges,
    compare_lines,
    cut_around_difference,
)
from commonplace.shortening import shorten_line, shorten_text
from commonplace.store.database import Row

_MAX_DIFF_CHARACTERS = 1500
_MAX_CHANGES_CHARACTERS = 8000
"""Of the lines, where only what changed was asked for."""
_MAX_LINE_CHARACTERS = 160
_MAX_DIFFERENCE_CHARACTERS = 700
_MAX_WHOLE_LINE_CHARACTERS = 2000
_MAX_NOTICE_LINE_CHARACTERS = 60
_MAX_NOTICE_DIFFERENCE_CHARACTERS = 160
_CONTEXT_CHARACTERS = 40
# So few changed lines are always shown, even if they are the whole text.
_MAX_SMALL_DIFF_LINES = 8
_MAX_SMALL_DIFF_CHARACTERS = 300
_MAX_FIELDS_CHARACTERS = 800
_MAX_SUMMARY_CHARACTERS = 200
_MAX_NAMED_LINES = 3
_MAX_WHOLE_SENTENCES_CHARACTERS = 160
_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=\S)")
_MAX_LINE_NAME_CHARACTERS = 100
REWRITTEN = "mostly rewritten: read content"
_SCHEMA_CHANGED = "json_schema changed"
# What a line is about: code at its beginning, a method and a path, or all of it. Marks of lists and headings are left out.
_LINE_NAME = re.compile(r"[\s#>*+-]*(`[^`]+`|(?:GET|PUT|POST|PATCH|DELETE|HEAD)\s+\S+|.*)")


def render_spec_changes(old: Row, new: Row, name: str) -> str:
    """Return the fields that changed, then the removed (`-`) and added (`+`) lines of content and schema, for a reply
    that has the new text too: long lines are cut, and new ones left out if they are most of the text."""
    text = _compare_content(old, new)
    is_mostly_new = _is_mostly_new(text, new)
    shown = text
    if is_mostly_new:
        shown = text._replace(
            lines=[line for line in text.lines if line.mark == REMOVED or line.twin], more_added=0
        )
    lines = _render_changes(old, new, text, shown, _MAX_DIFF_CHARACTERS, _MAX_LINE_CHARACTERS)
    if is_mostly_new and REWRITTEN not in lines:
        lines.append(f"{text.count(ADDED) - shown.count(ADDED)} new lines: read content")
    return _add_whole_call(
        lines, f"memory_get_spec(name='{name}', version='{old['version']}..') has whole lines"
    )


def render_only_changes(old: Row, new: Row, name: str) -> str:
    """Return the same with whole lines, for a reply without the new text."""
    text = _compare_content(old, new)
    lines = _render_changes(old, new, text, text, _MAX_CHANGES_CHARACTERS, _MAX_WHOLE_LINE_CHARACTERS)
    return _add_whole_call(lines, f"memory_get_spec(name='{name}') has the whole text")


def _render_changes(
    old: Row, new: Row, text: LineChanges, shown: LineChanges, limit: int, line_limit: int
) -> list[str]:
    """Of a text that is mostly new the lines would only repeat the old one: then they are left out."""
    fields = find_field_changes(old, new)
    first = [line] if (line := fields.format(_MAX_FIELDS_CHARACTERS)) else []
    if _is_rewrite(text, old, new):
        is_schema_new = not first and old["json_schema"] != new["json_schema"]
        return [*first, REWRITTEN, *([_SCHEMA_CHANGED] if is_schema_new else [])]
    lines = _render_lines(
        shown if fields.is_whole_schema else _add_schema_changes(shown, old, new), limit, line_limit
    )
    if first or lines or shown is not text:
        return [*first, *lines]
    if old["content"] == new["content"]:
        return ["The text is the same."]
    is_same = _list_content_lines(old) == _list_content_lines(new)
    return ["Only blank lines changed." if is_same else "Lines changed their places."]


def _render_lines(changes: LineChanges, limit: int, line_limit: int) -> list[str]:
    rendered: list[str] = []
    for line in changes.lines:
        short = _render_line(line, line_limit)
        limit -= len(short) + 1
        if limit < 0:
            break
        rendered.append(short)
    more = len(changes.lines) - len(rendered) + changes.more_removed + changes.more_added
    return [*rendered, f"… {more} more changed lines"] if more else rendered


def _render_line(line: ChangedLine, limit: int) -> str:
    text = line.text
    if line.twin is None:
        text = shorten_text(text, limit)
    elif max(len(text), len(line.twin)) > limit:
        cut = cut_around_difference(text, line.twin, _CONTEXT_CHARACTERS)
        text = shorten_text(cut, max(limit, _MAX_DIFFERENCE_CHARACTERS))
    return f"{line.mark} {text}".strip()


def _add_whole_call(lines: Sequence[str], whole: str) -> str:
    """Say how to read the whole if something was cut."""
    is_cut = any(line[:1] == "…" or line[2:3] == "…" or line[-1:] == "…" for line in lines)
    return "\n".join([*lines, f"(…: {whole})"] if is_cut else lines)


def _is_mostly_new(text: LineChanges, new: Row) -> bool:
    added = sum(len(line.text) for line in text.lines if line.mark == ADDED and line.twin is None)
    return added > _MAX_SMALL_DIFF_CHARACTERS and 2 * added > len(new["content"])


def summarize_spec_changes(old: Row, new: Row, fields: FieldChanges | None = None) -> str:
    """Return the fields that changed, the numbers of added and removed lines and what the new lines are about; if no
    field did, these numbers, then the first removed line, which may break its reader, and the first added one."""
    fields = find_field_changes(old, new) if fields is None else fields
    changes = _compare_content(old, new)
    if not fields.is_whole_schema:
        changes = _add_schema_changes(changes, old, new)
    count = f"+{changes.count(ADDED)} -{changes.count(REMOVED)} lines"
    if first := fields.format(_MAX_SUMMARY_CHARACTERS):
        names = _name_new_lines(changes.lines, first)
        return f"{first}; {count}{names}" if changes.lines else first
    quoted = [f'{what} "{text}"' for what, text in _quote_changes(changes.lines) if text]
    return f"{count}: {', '.join(quoted)}" if quoted else count


def _name_new_lines(lines: Sequence[ChangedLine], fields: str) -> str:
    """Name what the first new lines are about, without those that are fields named before."""
    texts = [line.text for line in lines if line.mark == ADDED and line.twin is None]
    found = [match[1].strip() for text in texts if (match := _LINE_NAME.match(text))]
    names = [name for name in found if not _is_named_before(name, fields)]
    shown = ", ".join(shorten_line(name, _MAX_LINE_NAME_CHARACTERS) for name in names[:_MAX_NAMED_LINES])
    more = f" and {len(names) - _MAX_NAMED_LINES} more" if len(names) > _MAX_NAMED_LINES else ""
    return f": + {shown}{more}" if shown else ""


def _is_named_before(name: str, fields: str) -> bool:
    """Whether the first word of the name is one of these fields. A version in it makes it the title of the text."""
    word = re.search(r"/\S+|\w+", name)
    if not word or re.search(r"\d\.\d+\.\d", name):
        return True
    return bool(re.search(rf"(?<![\w/]){re.escape(word[0])}(?!\w)", fields))


def _quote_changes(lines: Sequence[ChangedLine]) -> list[tuple[str, str]]:
    """The first removed and the first added line; of two that begin alike, what differs."""
    removed, added = (_quote_line(lines, mark) for mark in (REMOVED, ADDED))
    if removed and removed == added:
        old, new = (next(line.text for line in lines if line.mark == mark) for mark in (REMOVED, ADDED))
        removed, added = (
            shorten_line(
                cut_around_difference(one, other, _CONTEXT_CHARACTERS // 2), _MAX_NOTICE_DIFFERENCE_CHARACTERS
            )
            for one, other in ((old, new), (new, old))
        )
    return [("removed", removed), ("added", added)]


def _quote_line(lines: Sequence[ChangedLine], mark: str) -> str:
    """The first such line that says something; one without another version, if there is one."""
    said = [line for line in lines if line.mark == mark and any(map(str.isalnum, line.text))]
    line = next((line for line in said if line.twin is None), said[0] if said else None)
    if line is None:
        return ""
    if line.twin is None or max(len(line.text), len(line.twin)) <= _MAX_NOTICE_LINE_CHARACTERS:
        return shorten_line(line.text, _MAX_NOTICE_LINE_CHARACTERS)
    cut = cut_around_difference(line.text, line.twin, _CONTEXT_CHARACTERS // 2)
    return shorten_line(cut, _MAX_NOTICE_DIFFERENCE_CHARACTERS)


def _is_rewrite(text: LineChanges, old: Row, new: Row) -> bool:
    versions = sum(line.twin is not None for line in text.lines) // 2
    removed, added = text.count(REMOVED) - versions, text.count(ADDED) - versions
    is_most = 2 * removed > len(_list_content_lines(old)) and 2 * added > len(_list_content_lines(new))
    return is_most and removed + added > _MAX_SMALL_DIFF_LINES


def _compare_content(old: Row, new: Row) -> LineChanges:
    return compare_lines(_list_content_lines(old), _list_content_lines(new))


def _list_content_lines(version: Row) -> list[str]:
    """Blank lines are left out: they say nothing, and two texts would be compared paragraph by paragraph. A long line is
    a paragraph, of which a few sentences changed."""
    return [
        part
        for line in version["content"].splitlines()
        if line.strip()
        for part in (_SENTENCE_END.split(line) if len(line) > _MAX_WHOLE_SENTENCES_CHARACTERS else [line])
    ]


def _add_schema_changes(text: LineChanges, old: Row, new: Row) -> LineChanges:
    schema = compare_lines(_list_schema_lines(old), _list_schema_lines(new))
    if not schema.lines:
        return text
    return LineChanges(
        [*text.lines, ChangedLine("", "json_schema:"), *schema.lines],
        text.more_removed + schema.more_removed,
        text.more_added + schema.more_added,
    )


def _list_schema_lines(version: Row) -> list[str]:
    schema: str = version["json_schema"]
    return msgspec.json.format(schema, indent=1).splitlines() if schema != NO_SCHEMA else []
