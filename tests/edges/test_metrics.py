"""/metrics has every figure that the alert rules and the dashboard ask for, on both stores."""

import asyncio
import json
import re
from pathlib import Path

from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.edges.metrics import Metrics
from commonplace.edges.readiness import Readiness
from commonplace.events import append_events
from commonplace.store.last_backup import LastBackup, write_last_backup
from patience import PATIENCE_SECONDS
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
    metrics = Metrics(readiness.collector)
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


async def test_event_lag_is_how_late_the_last_events_were(team: Team):
    heard = asyncio.Event()
    ann = await team.agent("ann")
    await team.calls.bus.listen_to_project("shop", lambda _: heard.set())
    event = CATALOGUE.event_types["SignalSent"].create_event("shop", team.clock.now, "ann", {"name": "x"})
    team.clock.advance(seconds=7)
    await team.database.write(lambda tx: append_events(tx, [event]))
    team.calls.bus.publish_committed({"shop"})
    await asyncio.wait_for(heard.wait(), PATIENCE_SECONDS)
    assert 7 <= team.calls.bus.lag_seconds < 7 + PATIENCE_SECONDS
    assert ann.session_id


async def test_event_lag_grows_while_events_cannot_be_delivered(team: Team):
    await team.agent("ann")
    await team.calls.bus.listen_to_project("shop", lambda _: None)
    await team.calls.bus.close()
    team.calls.bus.wake_listeners({"shop"})
    before = team.calls.bus.lag_seconds
    assert team.calls.bus.lag_seconds > before > 0
