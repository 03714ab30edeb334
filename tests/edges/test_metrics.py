"""/metrics has every figure that the alert rules and the dashboard ask for, on both stores."""

import json
import re
from pathlib import Path

from commonplace.config import Settings
from commonplace.edges.metrics import Metrics
from commonplace.edges.readiness import Readiness
from commonplace.store.last_backup import LastBackup, write_last_backup
from team import Team

KIT = Path(__file__).parents[2] / "deploy/monitoring"
FIGURE = re.compile(r"\bcommonplace_\w+|\bprocess_\w+")


def list_asked_figures() -> set[str]:
    rules = "\n".join(line for line in (KIT / "alerts.yaml").read_text().splitlines() if "expr:" in line)
    panels = json.loads((KIT / "dashboard.json").read_text())["panels"]
    asked = rules + "\n".join(target["expr"] for panel in panels for target in panel["targets"])
    return set(FIGURE.findall(asked))


async def render_metrics(team: Team, address: Path | str, folder: Path) -> str:
    team.calls.settings = (
        Settings(data=address) if isinstance(address, Path) else Settings(data=folder, store=address)
    )
    await write_last_backup(
        team.calls.settings.store,
        team.calls.settings.data,
        LastBackup("b", 1, verified=True, at="2027-01-15T08:00:00+00:00"),
    )
    readiness = Readiness(team.calls)
    await readiness.open()
    await readiness.close()
    metrics = Metrics(team.calls.admission, readiness.store)
    team.calls.observe = metrics.observe_call
    await team.anyone().call("memory_health")
    metrics.set_state(readiness.live_counts, is_ready=not readiness.find_problem())
    return metrics.render().decode()


async def test_alerts_and_dashboard_ask_for_figures_that_exist(
    team: Team, address: Path | str, tmp_path: Path
):
    await (await team.agent("ann")).record_learning(topic="Idle connections", content="Set pool_recycle=300.")
    text = await render_metrics(team, address, tmp_path)
    names = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if not line.startswith("#")}
    names |= {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    missing = list_asked_figures() - names
    # No work runs here, and PostgreSQL has its disk elsewhere.
    assert {name for name in missing if "background" not in name} <= {"commonplace_disk_free_bytes"}
    assert "commonplace_embedding_queue_length 1.0" in text
    assert "commonplace_last_backup_timestamp_seconds 1.8e+09" in text
    assert re.search(r'commonplace_store_bytes\{part="database"\} [1-9]', text)
    figure = "writes_waiting" if team.database.kind == "sqlite" else "write_connections_idle"
    assert f'commonplace_store_load{{figure="{figure}"}}' in text
