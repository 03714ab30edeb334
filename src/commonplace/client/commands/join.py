"""`commonplace join`: confirm that a repository may use the project that its .commonplace.toml names."""

import argparse
import sys
from pathlib import Path

import tomlkit

from commonplace import errors
from commonplace.client.install import files
from commonplace.client.link import remote
from commonplace.client.people import terminal
from commonplace.client.project import ProjectSetting, find_project_setting, project_from_files, trust_root


def run(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.folder).expanduser().resolve()
    setting = find_project_setting(folder, "project")
    if setting is None:
        raise errors.NotFound(
            f"No .commonplace.toml of {folder} names a project.",
            hint='Write project = "NAME" to .commonplace.toml at the root of the repository.',
        )
    if project_from_files(folder) == setting.value:
        print(f"{folder} uses the project {setting.value}.")
        return 0
    _require_consent(setting, folder, is_given=arguments.yes)
    _store_consent(str(trust_root(folder)), setting.value)
    print(f"{folder} uses the project {setting.value} from now on.")
    return 0


def _require_consent(setting: ProjectSetting, folder: Path, *, is_given: bool) -> None:
    if is_given:
        return
    question = f"{setting.path} names the project {setting.value}. Agents in {folder} will read that project and write to it."
    if not sys.stdin.isatty():
        raise errors.Invalid(question, hint="Pass --yes to agree.")
    if terminal.ask(f"{question}\nUse it? [y/N] ").strip().lower() not in ("y", "yes"):
        raise errors.Conflict("Nothing was changed.")


def _store_consent(root: str, project: str) -> None:
    path = remote.configuration_path()
    document = tomlkit.parse((files.read(path) or b"").decode())
    document.setdefault("projects", tomlkit.table())[root] = project
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.write(path, tomlkit.dumps(document).encode(), private=True)
