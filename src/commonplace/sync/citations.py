"""Compare what documents cite with a checkout: `commonplace verify PATH --project P`. Only hashes leave the machine."""

import hashlib
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_LARGEST = 5_000_000
_BLOCK = 60
_DEFINES = r"^(?P<indent>[ \t]*)(?:[\w@.<>\[\]*&,:-]+[ \t]+){{0,6}}{name}\b[ \t]*(?:[(:={{<]|$)"
_GIT_SECONDS = 10

Call = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


def verify(call: Call, root: Path, project: str) -> Counter[str]:
    """Look at every citation of the project and report; how many are fresh, drifted or gone."""
    totals: Counter[str] = Counter()
    cursor: str | None = None
    while True:
        page = call("memory_list_citations", {"project": project} | ({"cursor": cursor} if cursor else {}))
        findings = [found(root, citation) for citation in page.get("citations", [])]
        if findings:
            call("memory_report_citations", {"project": project, "findings": findings})
        totals.update(finding["state"] for finding in findings)
        cursor = page.get("next_cursor")
        if cursor is None:
            return totals


def found(root: Path, citation: Mapping[str, Any]) -> dict[str, str]:
    """What stands at a cited place now, against what stood there when it was cited or first looked at."""
    now = _fingerprint(_read(root, citation["path"]), citation)
    before = citation.get("fingerprint") or _fingerprint(_committed(root, citation), citation)
    state = "gone" if not now else "drifted" if before and before != now else "fresh"
    seen = {"document": citation["document"], "place": citation["place"], "state": state}
    return seen | ({"fingerprint": now} if now else {})


def _read(root: Path, path: str) -> str:
    """The text of a file inside the root; a link that leads out of it is no file of this checkout."""
    whole, inside = root.resolve(), (root / path).resolve()
    if not inside.is_relative_to(whole) or not inside.is_file() or inside.stat().st_size > _LARGEST:
        return ""
    return inside.read_text(encoding="utf-8", errors="replace")


def _committed(root: Path, citation: Mapping[str, Any]) -> str:
    """The file at the cited commit, if git and the commit are there."""
    commit = citation.get("committed") or ""
    if not re.fullmatch(r"[0-9a-f]{7,40}", commit):
        return ""
    command = ["git", "-C", str(root), "show", f"{commit}:./{citation['path']}"]
    try:
        shown = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)  # noqa: S603 - no shell
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return shown.stdout[:_LARGEST].decode(errors="replace") if shown.returncode == 0 else ""


def _fingerprint(text: str, citation: Mapping[str, Any]) -> str:
    """Of the symbol, else of the line, else of the whole file; nothing if it is not there."""
    cited = _cited(text, citation.get("line") or 0, citation.get("symbol") or "") if text else ""
    return hashlib.sha256(" ".join(cited.split()).encode()).hexdigest()[:32] if cited.strip() else ""


def _cited(text: str, line: int, symbol: str) -> str:
    lines = text.splitlines()
    if symbol:
        return _definition(lines, symbol.rsplit(".", 1)[-1])
    if line:
        return lines[line - 1] if line <= len(lines) else ""
    return text


def _definition(lines: list[str], name: str) -> str:
    """From the line that defines the name to the next one that is indented no deeper."""
    defines = re.compile(_DEFINES.format(name=re.escape(name)))
    for start, line in enumerate(lines):
        if opening := defines.match(line):
            indent = len(opening["indent"])
            block = [line]
            for following in lines[start + 1 : start + _BLOCK]:
                if following.strip() and len(following) - len(following.lstrip()) <= indent:
                    break
                block.append(following)
            return "\n".join(block)
    return ""
