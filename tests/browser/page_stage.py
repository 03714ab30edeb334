"""A server with keys, a browser that is signed in to its page, and a team whose work the page shows."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chromium import Chromium, Page

import product
from commonplace.beacon import read_beacon

PROJECT = "shop"
VIEWS = ("now", "work", "knowledge", "messages", "sessions", "code", "time", "admin")
TRANSCRIPT = "6f1c2d3e-0000-4000-8000-000000000001"
WORKSPACE = "laptop-claude-shop"


@dataclass
class PageStage:
    chromium: Chromium
    server: product.Product
    operator: str
    context: str = ""
    write_token: str = ""
    sessions: dict[str, str] = field(default_factory=dict)

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self.server.call(operation, key=self.operator, **arguments)

    def act(self, agent: str, operation: str, **arguments: Any) -> dict[str, Any]:
        """A call of an agent, whose session starts with its first call."""
        if agent not in self.sessions:
            started = self.call("memory_start_session", project=PROJECT, claude_instance=agent)
            self.sessions[agent] = started["session_id"]
        named = "agent_session" if operation in ("create_session", "add_message") else "session_id"
        return self.call(operation, **{named: self.sessions[agent]}, **arguments)

    def link(self) -> str:
        code = self.call("memory_create_sign_in_link", agent="eve")["code"]
        return f"{self.server.url}/#sign-in={code}"

    def sign_in(self) -> str:
        """A browser of its own that is signed in."""
        context = self.chromium.open_context()
        first = self.chromium.open_page(self.link(), context)
        first.wait_for("Boolean(document.querySelector('main.view'))")
        first.close()
        return context

    def open(self, path: str = "/", **size: int) -> Page:
        """A tab of the browser that all tests share."""
        self.context = self.context or self.sign_in()
        page = self.chromium.open_page(self.server.url + path, self.context, **size)
        page.wait_for("Boolean(document.querySelector('main.view'))")
        return page


@contextlib.contextmanager
def open_stage(chromium: Chromium, folder: Path) -> Iterator[PageStage]:
    with product.running("--data", str(folder), "--auth", "on", "--embeddings", "off") as server:
        yield PageStage(chromium, server, read_beacon(folder)["token"])


def upload_transcript(
    stage: PageStage, text: str = "The import fails with ModuleNotFoundError: yaml", session: str = TRANSCRIPT
) -> None:
    if not stage.write_token:
        registered = stage.call(
            "register_workspace", machine="laptop", tool="claude", project=PROJECT, rotate=True
        )
        stage.write_token = registered["write_token"]
    turns = [("user", text)] + [("assistant", f"Step {n}: looking.") for n in range(40)]
    turns.append(("assistant", "PyYAML was missing in requirements.txt."))
    lines = [
        {
            "type": role,
            "timestamp": f"2026-11-16T09:{number:02d}:00Z",
            "message": {"role": role, "content": said},
        }
        for number, (role, said) in enumerate(turns)
    ]
    stage.call(
        "upload_session",
        workspace_id=WORKSPACE,
        write_token=stage.write_token,
        session_id=session,
        content="".join(json.dumps(line) + "\n" for line in lines),
    )


def fill(stage: PageStage) -> None:
    """Something on every view."""
    stage.act("ann", "memory_lock_files", files=["src/tax/rates.py", "src/cart.py"], reason="reverse charge")
    stage.act(
        "ben", "memory_update_work", title="Invoices", status="in_progress", files_touched=["src/cart.py"]
    )
    stage.act("ben", "memory_lock_files", files=["src/cart.py"])
    stage.act("mia", "memory_update_work", title="Flaky test", status="blocked", blocked_by="ann", blocked_reason="src/cart.py is locked")  # fmt: skip
    for title, priority in (
        ("Reverse charge in the EU", "high"),
        ("Rates of 2027", "low"),
        ("Export as CSV", "medium"),
    ):
        stage.act("ann", "memory_add_backlog_item", title=title, priority=priority, tags=["tax"], description="**Why** and how.")  # fmt: skip
    stage.act("ann", "memory_store", title="PgBouncer closes idle connections", content="## Fix\n\n`pool_recycle=300`, see [docs](https://example.org).", memory_type="learning", tags=["database"])  # fmt: skip
    stage.act("ann", "memory_store", title="Money is rounded per line", content="Half to even.", memory_type="adr", tags=["tax"])  # fmt: skip
    stage.act("ann", "memory_send_message", to_instance="ben", subject="Rounding", message="Per **line** or per total?", category="question")  # fmt: skip
    board = stage.act("ann", "create_session", purpose="Why is the checkout slow?")["session_id"]
    stage.act("ben", "add_message", session_id=board, content="It reads the rates for every line.")
    for name, file in (("net_to_gross", "src/tax/vat.py"), ("add_line", "src/cart.py")):
        stage.act(
            "ann",
            "memory_register_function",
            name=name,
            file_path=f"{file}:12",
            purpose="Rounds half to even",
        )
    stage.act("ben", "memory_report_request", kind="permission", title="Bash", text="git push --force origin main", tool="claude", machine="laptop", directory="/home/ben/shop", is_awaited=True)  # fmt: skip
    stage.act("ann", "memory_ask_person", question="Round per line or per total?", options=["per line", "per total"], wait_seconds=0)  # fmt: skip
    stage.act("mia", "memory_report_request", kind="permission", title="Confirm Shell Command", text="rm -rf build", tool="gemini", machine="laptop", directory="/home/mia/shop")  # fmt: skip
    stage.call("memory_guidelines", action="set", name="tests-first", rule="Run the tests.", scope="global")
    upload_transcript(stage)
