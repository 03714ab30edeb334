"""Every file of the deployment kit is accepted by the program that reads it.

A program that is not installed is named in the skip. COMMONPLACE_DEPLOY_TOOLS can name further folders of programs.
"""

import logging
import os
import plistlib
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from commonplace.client.install.machine import Machine
from commonplace.client.install.server_unit import build_unit, render_systemd_unit
from commonplace.edges.structured_log import JsonLineFormatter
from patience import PATIENCE_SECONDS

KIT = Path(__file__).parents[2] / "deploy"
SPACED = ("/opt/my tools/commonplace", "serve", "--data", "/home/ann/100% data")


def find_program(name: str) -> str:
    folders = [os.environ.get("COMMONPLACE_DEPLOY_TOOLS", ""), os.environ["PATH"], "/usr/sbin"]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


def run(*words: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        env=os.environ | environ,
    )


def verify_units(folder: Path) -> str:
    """What systemd says of the units in this folder, but for programs and users that this machine does not have."""
    done = run(find_program("systemd-analyze"), "verify", "--man=no", *sorted(folder.iterdir()))
    excused = (
        "is not executable",
        "Failed to create",
        "Unit network-online",
        "sysinit.target",
        "cannot be started",
    )
    return "\n".join(line for line in done.stderr.splitlines() if not any(words in line for words in excused))


def test_systemd_accepts_the_units_of_the_machine(tmp_path: Path):
    for unit in (KIT / "systemd").iterdir():
        (tmp_path / unit.name).write_text(unit.read_text().replace("/usr/local/bin/commonplace", "/bin/true"))
    assert verify_units(tmp_path) == ""


def test_systemd_finds_a_mistake_in_a_unit(tmp_path: Path):
    """Else the test above could not fail."""
    text = (
        (KIT / "systemd/commonplace.service")
        .read_text()
        .replace("ProtectSystem=strict", "ProtectSystem=perhaps")
    )
    (tmp_path / "commonplace.service").write_text(text.replace("/usr/local/bin/commonplace", "/bin/true"))
    assert "perhaps" in verify_units(tmp_path)


def test_systemd_reads_the_words_of_a_unit_of_a_user(tmp_path: Path):
    unit = render_systemd_unit(SPACED)
    assert 'ExecStart="/opt/my tools/commonplace" serve --data "/home/ann/100%% data"' in unit
    (tmp_path / "commonplace.service").write_text(render_systemd_unit(("/bin/true", *SPACED[1:])))
    assert verify_units(tmp_path) == ""


def test_launchd_agent_starts_the_server(tmp_path: Path):
    machine = Machine(tmp_path, tmp_path, SPACED[:1], platform="darwin", environment={"PATH": ""})
    agent = plistlib.loads(build_unit(machine, SPACED[2:]).text.encode())
    assert agent["ProgramArguments"] == list(SPACED)
    assert (agent["RunAtLoad"], agent["KeepAlive"]) == (True, {"SuccessfulExit": False})


def test_windows_task_starts_the_server_at_login(tmp_path: Path):
    machine = Machine(tmp_path, tmp_path, (r"C:\my tools\commonplace.exe",), platform="win32", environment={})
    create = build_unit(machine, ("--port", "9000")).start[0]
    assert create[create.index("/TR") + 1] == r'"C:\my tools\commonplace.exe" serve --port 9000'
    assert "ONLOGON" in create


def test_nginx_accepts_its_configuration(tmp_path: Path):
    nginx = find_program("nginx")
    write_certificate(tmp_path)
    text = (KIT / "nginx/commonplace.conf").read_text().replace("/etc/ssl/commonplace", str(tmp_path))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = " ".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
    main = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {folders} {text} }}"
    (tmp_path / "nginx.conf").write_text(main)
    done = run(nginx, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf")
    assert (done.returncode, "test is successful" in done.stderr) == (0, True), done.stderr


@pytest.mark.parametrize("path", ["caddy/Caddyfile", "docker/Caddyfile.replicas"])
def test_caddy_accepts_its_configuration(path: str, tmp_path: Path):
    text = (KIT / path).read_text().replace("/var/log/caddy", str(tmp_path))
    (tmp_path / "Caddyfile").write_text(text)
    words = ("validate", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile")
    done = run(find_program("caddy"), *words, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert run(find_program("caddy"), "fmt", KIT / path).stdout == (KIT / path).read_text()


def write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "team.example")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "privkey.pem").write_bytes(key.private_bytes(*plain))


def log_line(event: str, **fields: str) -> str:
    """A line as the server writes it."""
    record = logging.LogRecord("x", logging.WARNING, "", 0, event, None, None)
    vars(record).update(fields)
    return JsonLineFormatter().format(record)


def count_matches(filter_name: str, lines: list[str], folder: Path) -> str:
    (folder / "log").write_text("\n".join(lines) + "\n")
    done = run(find_program("fail2ban-regex"), folder / "log", KIT / f"fail2ban/filter.d/{filter_name}.conf")
    return next((line for line in done.stdout.splitlines() if line.startswith("Lines:")), done.stderr)


def test_fail2ban_sees_refused_keys_in_the_servers_log(tmp_path: Path):
    lines = [
        log_line("unauthenticated", address="203.0.113.7", reason="unknown key"),
        log_line("unauthenticated", address="2001:db8::1", reason="no key"),
        log_line("refused", operation="memory_store", code="forbidden"),
    ]
    assert "3 lines, 0 ignored, 2 matched, 1 missed" in count_matches("commonplace", lines, tmp_path)


def test_fail2ban_sees_refused_keys_in_the_log_of_nginx(tmp_path: Path):
    line = '203.0.113.7 - - [15/Jan/2027:08:00:00 +0000] "POST /mcp HTTP/1.1" {} 90 "-" "agent"'
    lines = [line.format(status) for status in (401, 200, 403)]
    assert "3 lines, 0 ignored, 1 matched, 2 missed" in count_matches("commonplace-nginx", lines, tmp_path)


def test_hadolint_accepts_the_dockerfile():
    done = run(find_program("hadolint"), KIT / "docker/Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


def test_docker_accepts_the_compose_files(tmp_path: Path):
    docker = find_program("docker")
    if run(docker, "compose", "version").returncode:
        pytest.skip("docker has no compose")
    folder = KIT / "docker"
    for files in (
        ["compose.yaml"],
        ["compose.postgresql.yaml"],
        ["compose.postgresql.yaml", "compose.replicas.yaml"],
    ):
        flags = [word for name in files for word in ("-f", str(folder / name))]
        done = run(docker, "compose", *flags, "config", "-q", POSTGRES_PASSWORD="x", HOME=str(tmp_path))
        assert done.returncode == 0, done.stderr


def test_kubectl_reads_the_manifests(tmp_path: Path):
    (tmp_path / "kustomization.yaml").write_text("resources: [commonplace.yaml]\n")
    shutil.copy(KIT / "kubernetes/commonplace.yaml", tmp_path)
    done = run(find_program("kubectl"), "kustomize", tmp_path)
    assert done.returncode == 0, done.stderr
    kinds = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("kind:")]
    assert sorted(kinds) == [
        "CronJob",
        "Deployment",
        "Ingress",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "Service",
    ]


IN_SLIM_IMAGE = {
    "python",
    "pip",
    "sh",
    "rm",
    "mkdir",
    "chmod",
    "chown",
    "cp",
    "mv",
    "ln",
    "useradd",
    "groupadd",
}
"""Programs of python:*-slim that the image may use: make, git, curl and compilers are not among them."""


def test_image_is_built_with_programs_that_its_base_has():
    lines = (KIT / "docker/Dockerfile").read_text().replace("\\\n", " ").splitlines()
    runs = [line.removeprefix("RUN ") for line in lines if line.startswith("RUN ")]
    programs = {command.split()[0] for run in runs for command in run.split("&&")}
    assert runs
    assert programs <= IN_SLIM_IMAGE


@pytest.mark.slow
@pytest.mark.processes
def test_image_builds_where_an_engine_runs():
    engine = shutil.which("docker") or shutil.which("podman")
    if not engine or subprocess.run([engine, "info"], capture_output=True, check=False).returncode:
        pytest.skip("no container engine runs here")
    subprocess.run([engine, "build", "-q", "-f", KIT / "docker/Dockerfile", KIT.parent], check=True)
