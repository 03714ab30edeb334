"""Which files of a machine belong to a workspace: COMMONPLACE_HOME/manifests/<workspace_id>.json."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.sync import reach


@dataclass(frozen=True, slots=True)
class Tracked:
    local: str
    upload: str


@dataclass(frozen=True, slots=True)
class TrackedFolder:
    local: str
    upload_prefix: str = ""
    glob: str = "**/*.md"


@dataclass(frozen=True, slots=True)
class Manifest:
    workspace_id: str
    machine: str
    tool: str
    project: str
    tracked: list[Tracked] = field(default_factory=list)
    tracked_dirs: list[TrackedFolder] = field(default_factory=list)

    def files(self) -> Iterator[tuple[Path, str]]:
        """Every tracked file that is there, and its path in the workspace."""
        for one in self.tracked:
            if (path := expanded(one.local)).is_file():
                yield path, one.upload
        for folder in self.tracked_dirs:
            root = expanded(folder.local)
            for path in sorted(root.glob(folder.glob)):
                if path.is_file():
                    below = path.relative_to(root).as_posix()
                    yield path, f"{folder.upload_prefix.strip('/')}/{below}".lstrip("/")


def expanded(local: str) -> Path:
    return Path(os.path.expandvars(local)).expanduser()


def every() -> list[Manifest]:
    return [read(path) for path in sorted((reach.home() / "manifests").glob("*.json"))]


def read(path: Path) -> Manifest:
    try:
        return _manifest(json.loads(path.read_bytes()))
    except (ValueError, TypeError, KeyError) as wrong:
        raise errors.Invalid(
            f"{path} is no manifest ({wrong}).", hint="Mend it, or remove it and run sync init-manifest."
        ) from None


def write(manifest: Manifest) -> Path:
    """Keep a manifest; what somebody added to one of the same workspace stays."""
    path = reach.home() / "manifests" / f"{manifest.workspace_id}.json"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    merged = asdict(manifest)
    if path.exists():
        before = asdict(read(path))
        for name in ("tracked", "tracked_dirs"):
            merged[name] = before[name] + [each for each in merged[name] if each not in before[name]]
    part = path.with_suffix(".part")
    part.write_text(json.dumps(merged, indent=2) + "\n", encoding="utf-8")
    part.replace(path)
    return path


def _manifest(given: dict[str, Any]) -> Manifest:
    return Manifest(
        given["workspace_id"],
        given["machine"],
        given["tool"],
        given["project"],
        [Tracked(**each) for each in given.get("tracked", [])],
        [TrackedFolder(**each) for each in given.get("tracked_dirs", [])],
    )
