"""Folders of sources as tests need them."""

from collections.abc import Mapping
from pathlib import Path


def write_all(top: Path, files: Mapping[str, str | None]) -> Path:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    return top
