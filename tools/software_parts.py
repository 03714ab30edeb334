"""What the default install contains: packages with versions, hashes and licences, from the runtime lock.

`python tools/software_parts.py sbom` writes the CycloneDX list to dist/ (`make sbom`); `python tools/software_parts.py
audit` asks the OSV database for known vulnerabilities (`make audit`). With `--if-reachable` a service that cannot be
reached is told and is no failure.
"""

import json
import re
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from environment import LOCKS, ROOT

SBOM = ROOT / "dist" / "commonplace.cdx.json"
_OSV_URL = "https://api.osv.dev/v1/querybatch"
_TIMEOUT_SECONDS = 5
_NOT_AUDITED = 2
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_GPL = re.compile(r"(?<![L])GPL|General Public License|AGPL", re.IGNORECASE)
_LESSER = re.compile(r"LGPL|Lesser General Public", re.IGNORECASE)


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    hashes: tuple[str, ...]
    licence: str

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"

    @property
    def is_under_gpl(self) -> bool:
        """Whether its licence is the GPL or the AGPL; the LGPL is another."""
        return bool(_GPL.search(_LESSER.sub("", self.licence)))


def list_packages(lock: Path = LOCKS["runtime"]) -> list[Package]:
    """Every package that the lock pins, but for those of extras."""
    text, extras = lock.read_text(), _list_extras()
    starts = [*_PINNED.finditer(text)]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [
        Package(
            canonical_name(match[1]),
            match[2],
            tuple(_HASH.findall(text[match.start() : end])),
            read_licence(match[1]),
        )
        for match, end in zip(starts, ends, strict=True)
        if canonical_name(match[1]) not in extras
    ]


def canonical_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _list_extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {}).values()
    return {canonical_name(re.split(r"[^A-Za-z0-9._-]", need)[0]) for needs in extras for need in needs}


def read_licence(name: str) -> str:
    """What the installed package says of its licence, in all places that it can; empty if it is not installed here."""
    try:
        fields = metadata(name)
    except PackageNotFoundError:
        return ""
    classifiers = [text for text in fields.get_all("Classifier") or () if text.startswith("License ::")]
    # An old field may hold the whole text of a licence, which also names others.
    texts = [
        fields.get("License-Expression") or "",
        (fields.get("License") or "").split("\n")[0],
        *classifiers,
    ]
    return "; ".join(text for text in texts if text)


def build_sbom(version: str) -> dict[str, Any]:
    """The list in CycloneDX 1.6. It has no time and no random number, so the same lock gives the same file."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "commonplace", "version": version}},
        "components": [
            {
                "type": "library",
                "bom-ref": package.purl,
                "name": package.name,
                "version": package.version,
                "purl": package.purl,
                "licenses": [{"license": {"name": package.licence}}] if package.licence else [],
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],
            }
            for package in list_packages()
        ],
    }


def write_sbom() -> Path:
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/commonplace/__init__.py").read_text())
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(json.dumps(build_sbom(version[1] if version else "0"), indent=2) + "\n")
    return SBOM


def find_vulnerabilities(packages: list[Package], url: str = _OSV_URL) -> Iterator[str]:
    """Known vulnerabilities, one line each; raises OSError if the service cannot be reached."""
    queries = [{"package": {"purl": package.purl}} for package in packages]
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - a constant address
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - the same
        results = json.load(answer)["results"]
    for package, result in zip(packages, results, strict=True):
        for found in result.get("vulns", ()):
            yield f"{package.name} {package.version}: {found['id']}"


def audit(*, if_reachable: bool) -> int:
    packages = list_packages()
    try:
        found = list(find_vulnerabilities(packages))
    except OSError as error:
        sys.stderr.write(
            f"The dependencies were NOT audited: the vulnerability database cannot be reached ({error}).\n"
        )
        return 0 if if_reachable else _NOT_AUDITED
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.stdout.write(f"{len(packages)} packages audited, {len(found)} known vulnerabilities.\n")
    return 1 if found else 0


def main(words: list[str]) -> int:
    if words[:1] == ["sbom"]:
        sys.stdout.write(f"Wrote {write_sbom().relative_to(ROOT)}\n")
        return 0
    return audit(if_reachable="--if-reachable" in words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
