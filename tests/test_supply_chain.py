"""What the default install contains: pinned with hashes, no GPL, listed in the SBOM, and audited where that is possible."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

import software_parts
from software_parts import Package

PACKAGES = software_parts.list_packages()
INSTALLED = [package for package in PACKAGES if package.licence]


def test_every_package_is_pinned_with_hashes():
    assert [package.name for package in PACKAGES if not package.hashes] == []


def test_no_package_of_the_default_install_is_under_the_gpl():
    assert len(INSTALLED) > len(PACKAGES) * 0.8
    assert [(package.name, package.licence) for package in INSTALLED if package.is_under_gpl] == []


@pytest.mark.parametrize(
    ("licence", "is_under_gpl"),
    [
        ("GPL-3.0-or-later", True),
        ("License :: OSI Approved :: GNU General Public License v3 (GPLv3)", True),
        ("AGPL-3.0", True),
        ("LGPL-3.0-or-later", False),
        ("License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)", False),
        ("MIT", False),
        ("", False),
    ],
)
def test_licences_are_told_apart(licence: str, *, is_under_gpl: bool):
    assert Package("x", "1", (), licence).is_under_gpl is is_under_gpl


def test_extra_under_the_gpl_is_recognised_and_is_no_default():
    assert Package("pglast", "8", (), software_parts.read_licence("pglast")).is_under_gpl
    assert "pglast" not in {package.name for package in PACKAGES}


def test_sbom_lists_every_package_with_its_hashes():
    sbom = software_parts.build_sbom("1.0")
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    listed = {(part["name"], part["version"], part["purl"]) for part in sbom["components"]}
    assert listed == {(package.name, package.version, package.purl) for package in PACKAGES}
    assert all(part["hashes"] for part in sbom["components"])
    assert json.dumps(sbom) == json.dumps(software_parts.build_sbom("1.0"))


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, object]]]:
    """A vulnerability database that knows something about apsw."""
    asked: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            asked.extend(queries)
            known = [{"vulns": [{"id": "OSV-1"}]} if "/apsw@" in str(query) else {} for query in queries]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"results": known}).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    ask = software_parts.find_vulnerabilities
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(software_parts, "find_vulnerabilities", lambda packages: ask(packages, url))
    yield asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_audit_names_what_is_known(database: list[dict[str, object]], capsys: pytest.CaptureFixture[str]):
    assert software_parts.audit(if_reachable=True) == 1
    assert len(database) == len(PACKAGES)
    assert "OSV-1" in capsys.readouterr().out


def test_audit_says_when_it_could_not_ask(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    ask = software_parts.find_vulnerabilities
    monkeypatch.setattr(
        software_parts, "find_vulnerabilities", lambda packages: ask(packages, "http://127.0.0.1:9")
    )
    assert [software_parts.audit(if_reachable=reachable) for reachable in (True, False)] == [0, 2]
    assert "NOT audited" in capsys.readouterr().err
