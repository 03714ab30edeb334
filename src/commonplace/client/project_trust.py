"""Which projects repositories may name: a file in a clone must not silently join the project of another team.

`project` in .commonplace.toml counts if it is the repository's own name, if the person confirmed it for this repository
(`commonplace join`, which writes [projects] in config.toml), or if `trusted_projects` in config.toml lists it; "*" there
trusts every repository. Until then the repository's own name is used, and hooks say so once.
"""

from pathlib import Path
from typing import Any


def is_project_trusted(project: str, root: Path, configured: dict[str, Any]) -> bool:
    """Whether the repository at this root may use a project that its file names."""
    confirmed = configured.get("projects")
    if isinstance(confirmed, dict) and confirmed.get(str(root)) == project:
        return True
    trusted = configured.get("trusted_projects")
    return isinstance(trusted, list) and ("*" in trusted or project in trusted)


def explain_untrusted_project(project: str, path: Path) -> str:
    return (
        f"{path} names the project {project}, which nobody has confirmed for this repository, so its own name is"
        " used instead. To use it, a person runs: commonplace join"
    )
