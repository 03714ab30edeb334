"""A day of a team, for screenshots: eight agents on a shop, as the page shows them at the end of the afternoon."""

from collections.abc import Callable
from dataclasses import dataclass, field

from page_stage import PROJECT, TRANSCRIPT, PageStage
from page_transcripts import write_claude_transcript, write_codex_transcript

Items = dict[str, str]
CODEX_TRANSCRIPT = "6f1c2d3e-0000-4000-8000-000000000002"
AGENTS = {
    "claude-checkout": ("VAT per line in the checkout", "feature/vat-per-line"),
    "codex-invoices": ("Invoices as PDF/A with the new template", "feature/invoice-pdf"),
    "gemini-search": ("Product search: typos and synonyms", "search-synonyms"),
    "claude-infra": ("Move the session cache to Valkey", "infra/valkey"),
    "copilot-tests": ("Flaky checkout tests", "fix/flaky-checkout"),
    "opencode-docs": ("Handbook for the returns portal", "docs/returns"),
    "claude-review": ("Reviews what is ready to merge", "main"),
}
BACKLOG: list[tuple[str, str, str, list[str], list[str], str]] = [
    ("vat", "VAT is rounded per line, not per total", "critical", ["tax", "checkout"], [], "claude-checkout"),
    ("rates", "Rates of 2027 are read from the table", "high", ["tax"], ["vat"], ""),
    ("oss", "One-stop-shop report for the EU", "high", ["tax", "reports"], ["vat", "rates"], ""),
    ("pdf", "Invoices as PDF/A-3 with embedded XML", "high", ["invoices"], [], "codex-invoices"),
    ("mail", "Send invoices by mail with a signed link", "medium", ["invoices"], ["pdf"], ""),
    ("valkey", "Session cache on Valkey", "medium", ["infra"], [], "claude-infra"),
    (
        "flaky",
        "test_pay_twice fails one time in forty",
        "critical",
        ["tests", "checkout"],
        [],
        "copilot-tests",
    ),
    ("syn", "Search finds “tee shirt” for “t-shirt”", "medium", ["search"], [], "gemini-search"),
    ("csv", "Export of orders as CSV", "low", ["reports"], [], ""),
    ("returns", "Returns portal: label without an account", "medium", ["returns"], [], ""),
    ("photos", "Photos of a return are resized in the browser", "low", ["returns"], ["returns"], ""),
    ("idem", "Payment callbacks are idempotent", "high", ["checkout"], [], ""),
]
DONE = ["Cart keeps the coupon after sign-in", "Slow query on the order list", "Dark mode of the admin", "Rate limit of the login"]  # fmt: skip
LEARNINGS: list[tuple[str, str, str, list[str], list[str]]] = [
    (
        "PgBouncer closes idle connections after 300 s",
        (
            "## What happens\n\nThe pool hands out a connection that PgBouncer has closed: `server closed the connection"
            " unexpectedly`.\n\n## Fix\n\nSet `pool_recycle=280` and `pool_pre_ping=True`, see"
            " [the manual](https://www.pgbouncer.org/config.html).\n\n| setting | before | after |\n|---|---|---|\n"
            "| pool_recycle | none | 280 |\n| pool_pre_ping | false | true |"
        ),
        "learning",
        ["database", "infra"],
        ["src/db/pool.py:14-17"],
    ),
    (
        "Money is rounded half to even, per line",
        "The auditors ask for it: *Umsatzsteuer* per position.",
        "adr",
        ["tax"],
        ["src/tax/vat.py:3"],
    ),
    (
        "Payment callbacks come twice",
        "The provider repeats a callback after 10 s without an answer.",
        "gotcha",
        ["checkout"],
        ["src/pay/callback.py"],
    ),
    (
        "Search index is rebuilt by `make index`",
        "It takes four minutes; aliases are switched at the end.",
        "pattern",
        ["search"],
        [],
    ),
    (
        "Invoices have gap-free numbers",
        "A number is taken in the transaction that writes the invoice.",
        "adr",
        ["invoices"],
        ["src/invoices/numbers.py"],
    ),
    (
        "Playwright waits for fonts",
        "Snapshots differ by a pixel without `document.fonts.ready`.",
        "learning",
        ["tests"],
        [],
    ),
]
FUNCTIONS: list[tuple[str, str, str]] = [
    ("net_to_gross", "src/tax/vat.py:3", "Gross amount of a line in cents, rounded half to even"),
    ("gross_to_net", "src/tax/vat.py:21", "Net amount of a line in cents, rounded half to even"),
    ("load_rates", "src/tax/rates.py:8", "VAT rates of a country at a date"),
    ("add_line", "src/cart.py:40", "Add a product to the cart and price the line"),
    ("total", "src/cart.py:71", "Sum of the lines of a cart, with VAT"),
    ("next_number", "src/invoices/numbers.py:12", "Take the next invoice number without a gap"),
    ("render_invoice", "src/invoices/pdf.py:30", "Write an invoice as PDF/A-3"),
    ("retry_with_backoff", "src/net/retry.py:5", "Call again with growing pauses"),
    (
        "retry_payment_with_backoff",
        "src/pay/client.py:18",
        "Call the payment provider again with growing pauses",
    ),
]


@dataclass
class TeamDay:
    """`wait(minutes)` says how many minutes before now the next calls happen."""

    stage: PageStage
    wait: Callable[[float], None]
    items: Items = field(default_factory=dict)

    def play(self) -> None:
        self.wait(460)
        self._meet()
        self._plan()
        self._learn()
        self._talk()
        self._work()
        self._upload()
        self._end()

    def _meet(self) -> None:
        for n, (agent, (task, branch)) in enumerate(AGENTS.items()):
            self.wait(455 - 9 * n)
            started = self.stage.call(
                "memory_start_session",
                project=PROJECT,
                claude_instance=agent,
                task_description=task,
                working_directory=f"/home/eve/shop-{n}",
                tmux_target=f"team:{n}" if n < 2 else "",
            )
            self.stage.sessions[agent] = started["session_id"]
            self.stage.act(
                agent,
                "memory_report_checkout",
                machine="eve-laptop",
                root=f"/home/eve/shop-{n}",
                repository="/home/eve/shop",
                branch=branch,
            )

    def _plan(self) -> None:
        for n, (key, title, priority, tags, needs, _) in enumerate(BACKLOG):
            self.wait(380 - 3 * n)
            added = self.stage.act(
                "claude-review",
                "memory_add_backlog_item",
                title=title,
                priority=priority,
                tags=tags,
                depends_on=[self.items[need] for need in needs],
                description=f"## Why\n\n{title}.\n\n## Done when\n\n- a test shows it\n- the handbook says so",
            )
            self.items[key] = added["id"]
        for n, title in enumerate(DONE):
            self.wait(330 - 8 * n)
            item = self.stage.act("claude-review", "memory_add_backlog_item", title=title, tags=["shop"])[
                "id"
            ]
            self.wait(300 - 30 * n)
            self.stage.act("copilot-tests", "memory_complete_backlog_item", item_id=item, resolution="41 tests passed at 1f2e3d4c")  # fmt: skip

    def _learn(self) -> None:
        for n, (title, content, kind, tags, files) in enumerate(LEARNINGS):
            self.wait(240 - 11 * n)
            made = self.stage.act(
                list(AGENTS)[n % len(AGENTS)],
                "memory_store",
                title=title,
                content=content,
                memory_type=kind,
                tags=tags,
                files_related=files,
            )
            if n == 0:
                self._check_evidence(made["id"])
        for name, file, purpose in FUNCTIONS:
            self.wait(170)
            self.stage.act("claude-infra", "memory_register_function", name=name, file_path=file, purpose=purpose)  # fmt: skip

    def _check_evidence(self, document: str) -> None:
        """As `commonplace verify --lines` does: first it was fresh, then somebody changed it."""
        place = {"document": document, "place": "src/db/pool.py:14-17"}
        before = "engine = create_engine(\n    url,\n    pool_recycle=280,\n    pool_pre_ping=True)"
        now = "engine = create_engine(\n    url,\n    pool_recycle=600,\n    pool_pre_ping=True)"
        for state, text in (("fresh", before), ("drifted", now)):
            found = place | {"state": state, "fingerprint": state, "text": text}
            self.stage.call("memory_report_citations", project=PROJECT, findings=[found])

    def _talk(self) -> None:
        self.wait(150)
        asked = self.stage.act("claude-checkout", "memory_send_message", to_instance="codex-invoices", subject="Rounding of invoice lines", message="I round **per line** from today on (`src/tax/vat.py`). Does the template sum lines or take the total?", category="question")  # fmt: skip
        self.wait(141)
        for message in self.stage.act("codex-invoices", "memory_get_messages")["messages"]:
            self.stage.act("codex-invoices", "memory_acknowledge_message", message_id=message["id"])
        self.wait(138)
        self.stage.act("codex-invoices", "memory_send_message", to_instance="claude-checkout", message="It takes the total:\n\n```python\ninvoice.total = cart.total()\n```\n\nI change it to the sum of the lines.", reply_to=asked["message_id"])  # fmt: skip
        self.wait(90)
        self.stage.act("claude-infra", "memory_send_message", to_instance="*", subject="Valkey on staging at 16:00", message="Staging restarts once. Sessions are kept.", priority="urgent")  # fmt: skip
        self.wait(70)
        self.stage.act("opencode-docs", "memory_send_message", to_instance="claude-review", subject="Handbook page to read", message="The page on returns is ready.", category="review")  # fmt: skip
        self.wait(60)
        board = self.stage.act("gemini-search", "create_session", purpose="Why is the checkout slow since Monday?")["session_id"]  # fmt: skip
        for minutes, agent, text in (
            (58, "gemini-search", "p95 went from 220 ms to 900 ms at 09:40 on Monday."),
            (55, "claude-checkout", "It reads the rates **for every line**: 40 lines, 40 queries."),
            (49, "claude-infra", "Agreed. `load_rates` has no cache since the move to 2027 rates."),
        ):
            self.wait(minutes)
            self.stage.act(agent, "add_message", session_id=board, content=text)

    def _work(self) -> None:
        for n, (key, _, _, _, _, agent) in enumerate(BACKLOG):
            if agent:
                self.wait(130 - 7 * n)
                self.stage.act(agent, "memory_update_backlog_item", item_id=self.items[key], status="in_progress", claim=True)  # fmt: skip
        for minutes, agent, files, reason in (
            (28, "claude-checkout", ["src/tax/vat.py:1-40", "src/cart.py", "tests/test_vat.py"], "rounding per line"),
            (24, "codex-invoices", ["src/invoices/pdf.py", "src/invoices/templates/"], "PDF/A-3"),
            (20, "claude-infra", ["deploy/valkey.yaml", "src/cache.py"], "Valkey"),
            (16, "copilot-tests", ["tests/test_pay_twice.py"], "flaky"),
            (12, "gemini-search", ["src/search/synonyms.py"], "synonyms"),
            (9, "claude-review", ["src/tax/vat.py:60-80"], "review of rates"),
        ):  # fmt: skip
            self.wait(minutes)
            self.stage.act(agent, "memory_lock_files", files=files, reason=reason)
            self.stage.act(agent, "memory_update_work", title=AGENTS[agent][0], status="in_progress", files_touched=[file.partition(":")[0] for file in files])  # fmt: skip
        self.wait(11)
        self.stage.act("copilot-tests", "memory_lock_files", files=["src/cart.py"], reason="pay twice")
        for minutes, agent, kind, what, files in (
            (64, "codex-invoices", "edit_denied", "src/cart.py is held by claude-checkout", ["src/cart.py"]),
            (41, "claude-infra", "command_denied", "git stash: claude-review has changes here", []),
            (33, "opencode-docs", "commit_refused", "docs/returns.md belongs to gemini-search", ["docs/returns.md"]),
            (7, "claude-review", "conflict_predicted", "src/cart.py will conflict with claude-checkout", ["src/cart.py"]),
        ):  # fmt: skip
            self.wait(minutes)
            self.stage.act(agent, "memory_report_prevented", kind=kind, what=what, files=files)

    def _upload(self) -> None:
        self.wait(30)
        sessions = self.stage.sessions
        for tool, session, content in (
            ("claude", TRANSCRIPT, write_claude_transcript(sessions["claude-checkout"])),
            ("codex", CODEX_TRANSCRIPT, write_codex_transcript(sessions["codex-invoices"])),
        ):
            made = self.stage.call("register_workspace", machine="laptop", tool=tool, project=PROJECT, rotate=True)  # fmt: skip
            place = {"workspace_id": made["workspace_id"], "write_token": made["write_token"]}
            self.stage.call("upload_session", **place, session_id=session, content=content)

    def _end(self) -> None:
        for minutes, agent in ((6, "opencode-docs"), (3, "gemini-search"), (2, "claude-review"), (1, "claude-infra"), (0.6, "claude-checkout")):  # fmt: skip
            self.wait(minutes)
            self.stage.act(agent, "memory_heartbeat")
        self.wait(4)
        self.stage.act("copilot-tests", "memory_update_work", title="Flaky checkout tests", status="blocked", blocked_by="claude-checkout", blocked_reason="src/cart.py is locked")  # fmt: skip
        self.wait(2)
        self.stage.act("codex-invoices", "memory_report_request", kind="permission", title="Bash", text="git push --force-with-lease origin feature/invoice-pdf", tool="codex", machine="eve-laptop", directory="/home/eve/shop-1", is_awaited=True)  # fmt: skip
        self.wait(1)
        self.stage.act("claude-checkout", "memory_ask_person", question="Old carts have totals that were rounded per total. Recompute them, or keep them until they are ordered?", options=["Recompute", "Keep them"], wait_seconds=0)  # fmt: skip
        self.wait(0.3)
        self.stage.act("gemini-search", "memory_report_request", kind="idle", tool="gemini", machine="eve-laptop", directory="/home/eve/shop-2")  # fmt: skip
        self.stage.call("memory_guidelines", action="set", name="tests-first", rule="Run `make test` before you say that something works.", scope="global")  # fmt: skip
        self.stage.call("memory_guidelines", action="set", name="no-force-push", rule="Never push with --force; use --force-with-lease on your own branch.", scope=PROJECT)  # fmt: skip
        for name, role, agent, projects in (
            ("eve", "owner", "eve", ["*"]),
            ("eve-laptop", "agent", "", [PROJECT, "web"]),
            ("build-server", "sync", "", [PROJECT]),
            ("wall-screen", "readonly", "", [PROJECT]),
        ):
            bound = {"agent": agent} if agent else {}
            self.stage.call("memory_admin", action="create_key", name=name, role=role, projects=projects, expires_in_days=90, **bound)  # fmt: skip
        self.wait(0)
