"""Manifests: which local files are tracked in a workspace (COMMONPLACE_HOME/manifests/<workspace_id>.json)."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from commonplace import errors
from commonplace.client.link import remote


class TrackedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    local: str
    upload: str


class TrackedFolder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    local: str
    upload_prefix: str = ""
    glob: str = "**/*.md"


class Manifest(msgspec.Struct, frozen=True):
    workspace_id: str
    machine: str
    tool: str
    project: str
    tracked: list[TrackedFile] = []
    tracked_dirs: list[TrackedFolder] = []

    def list_files(self) -> Iterator[tuple[Path, str]]:
        """Every tracked file that exists, with its path in the workspace."""
        for one in self.tracked:
            if (path := expand_path(one.local)).is_file():
                yield path, one.upload
        for folder in self.tracked_dirs:
            root = expand_path(folder.local)
            for path in sorted(root.glob(folder.glob)):
                if path.is_file():
                    below = path.relative_to(root).as_posix()
                    yield path, f"{folder.upload_prefix.strip('/')}/{below}".lstrip("/")


def expand_path(local: str) -> Path:
    return Path(os.path.expandvars(local)).expanduser()


def list_manifests() -> list[Path]:
    return sorted((remote.client_home() / "manifests").glob("*.json"))


def read_manifest(path: Path) -> Manifest:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.Invalid(
            f"{path} is not a valid manifest ({error}).",
            hint="Fix it, or delete it and run: sync init-manifest",
        ) from None


def write_manifest(manifest: Manifest) -> Path:
    """Write a manifest; entries that were added to an existing one by hand are kept."""
    path = remote.client_home() / "manifests" / f"{manifest.workspace_id}.json"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    merged = msgspec.to_builtins(manifest)
    if path.exists():
        before = msgspec.to_builtins(read_manifest(path))
        for name in ("tracked", "tracked_dirs"):
            merged[name] = before[name] + [entry for entry in merged[name] if entry not in before[name]]
    part = path.with_suffix(".part")
    part.write_text(json.dumps(merged, indent=2) + "\n", encoding="utf-8")
    part.replace(path)
    return path
