"""Knowledge files and overviews: written, versioned, read in parts, found, deleted and brought back."""

import asyncio
import hashlib
import json

import pytest

from commonplace import access, errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.rooms.workspaces import file_store
from team import Team

LAPTOP_ID = "laptop-claude-code-shop"
SECRET_KEY = "AKIAQWERTYUIOPASDFGH"


def sha256_of(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


class WorkspaceWriter:
    """A workspace and whoever writes there."""

    def __init__(self, team: Team, token: str = "") -> None:
        self.team, self.anyone, self.token = team, team.anyone(), token

    async def write(self, path: str, content: str, **more):
        return await self.anyone.write_knowledge(path=path, content=content, **more)

    async def upload(self, path: str, content: str, **more):
        return await self.anyone.upload_knowledge(
            workspace_id=LAPTOP_ID, write_token=self.token, path=path, content=content, **more
        )

    async def read(self, path: str, **more):
        return await self.anyone.read_knowledge(workspace_id=LAPTOP_ID, path=path, **more)

    async def list_files(self, **more):
        return await self.anyone.list_knowledge(workspace_id=LAPTOP_ID, **more)

    async def search(self, query: str, **more):
        return await self.anyone.search_knowledge(query=query, **more)


async def register_writer(team: Team) -> WorkspaceWriter:
    registered = await team.anyone().register_workspace(machine="laptop", tool="claude-code", project="shop")
    return WorkspaceWriter(team, registered["write_token"])


@pytest.fixture
async def writer(team):
    return await register_writer(team)


async def refusal_of(code: str, running) -> errors.Refusal:
    with pytest.raises(errors.Refusal) as refusal:
        await running
    assert refusal.value.code == code
    return refusal.value


async def test_write_knowledge_is_listed_and_read(writer):
    content = "# Cart\n\nTotals are in cents.\n"
    assert await writer.write("notes/cart.md", content) == {
        "status": "created",
        "sha256": sha256_of(content),
        "version": 1,
        "workspace_id": LAPTOP_ID,
    }
    assert await writer.list_files() == {
        "files": [
            {
                "path": "notes/cart.md",
                "title": "Cart",
                "size": len(content),
                "sha256": sha256_of(content),
                "modified_at": "2027-01-15T08:00:00Z",
                "versions": 1,
            }
        ],
        "total": 1,
    }
    assert await writer.read("notes/cart.md") == {
        "path": "notes/cart.md",
        "content": content,
        "size": len(content),
        "sha256": sha256_of(content),
        "modified_at": "2027-01-15T08:00:00Z",
        "version": 1,
        "total_lines": 3,
        "has_more": False,
    }


async def test_upload_knowledge_tells_created_updated_and_unchanged(writer):
    statuses = [(await writer.upload("a.md", text))["status"] for text in ("one", "one", "two", "one")]
    assert statuses == ["created", "unchanged", "updated", "updated"]
    assert (await writer.list_files())["files"][0]["versions"] == 3


async def test_upload_knowledge_refuses_a_wrong_digest(writer):
    await refusal_of("invalid", writer.upload("a.md", "one", sha256=sha256_of("two")))
    assert (await writer.list_files())["total"] == 0
    assert (await writer.upload("a.md", "one", sha256=sha256_of("one").upper()))["status"] == "created"


async def test_a_write_from_another_text_than_the_stored_one_is_a_conflict(writer):
    first = await writer.upload("a.md", "one")
    second = await writer.write("a.md", "two", base_sha256=first["sha256"])
    conflict = await refusal_of("conflict", writer.upload("a.md", "three", base_sha256=first["sha256"]))
    assert conflict.details == {"sha256": second["sha256"], "version": 2}
    await refusal_of("conflict", writer.write("none.md", "x", base_sha256=sha256_of("y")))
    assert (await writer.read("a.md"))["content"] == "two"


async def test_a_repeated_upload_whose_answer_was_lost_is_no_conflict(writer):
    first = await writer.upload("a.md", "one")
    for status in ("updated", "unchanged"):
        again = await writer.upload("a.md", "two", base_sha256=first["sha256"])
        assert (again["status"], again["version"]) == (status, 2)


@pytest.mark.parametrize(("size", "code"), [(1_048_576, None), (1_048_577, "too_large")])
async def test_a_file_has_at_most_a_megabyte(writer, size, code):
    writing = writer.upload("big.md", "é" * (size // 2) + "x" * (size % 2))
    if code:
        await refusal_of(code, writing)
    else:
        assert (await writing)["status"] == "created"


async def test_an_overview_has_at_most_64_kilobytes(writer):
    await refusal_of("too_large", writer.anyone.write_overview(content="x" * 65_537))
    assert (await writer.anyone.write_overview(content="x" * 65_536))["version"] == 1


async def test_list_knowledge_pages_in_order_and_by_prefix(writer):
    for path in ("b/2.md", "a.md", "b/1.md", "bb.md"):
        await writer.write(path, path)
    page = await writer.list_files(limit=2, offset=1)
    assert ([each["path"] for each in page["files"]], page["total"]) == (["b/1.md", "b/2.md"], 4)
    assert [each["path"] for each in (await writer.list_files(prefix="b/"))["files"]] == ["b/1.md", "b/2.md"]


async def test_read_knowledge_gives_some_lines(writer):
    await writer.write("a.md", "".join(f"line {n}\n" for n in range(10)))
    part = await writer.read("a.md", offset=3, limit=2)
    assert (part["content"], part["total_lines"], part["has_more"]) == ("line 3\nline 4\n", 10, True)
    rest = await writer.read("a.md", offset=8, limit=5)
    assert (rest["content"], rest["has_more"]) == ("line 8\nline 9\n", False)


@pytest.mark.parametrize(("asked", "most"), [({}, 32_000), ({"limit": 1000}, 100_000)])
async def test_read_knowledge_is_paged_to_the_end_in_replies_that_a_model_can_take(writer, asked, most):
    content = "".join(f'line {n}: "{"é" * (n % 300)}"\n' for n in range(2000))
    await writer.write("a.md", content)
    pages = [await writer.read("a.md", **asked)]
    while pages[-1]["has_more"]:
        pages.append(await writer.read("a.md", offset=pages[-1]["next_offset"], **asked))
    assert "".join(page["content"] for page in pages) == content
    assert all(len(json.dumps(page, ensure_ascii=False).encode()) < most + 500 for page in pages)
    assert not any(page.get("cut") or page["content"][-1] != "\n" for page in pages)


async def test_read_knowledge_cuts_a_line_that_is_too_long_and_says_so(writer):
    await writer.write("a.md", "x" * 200_000 + "\nshort\n")
    first, longer = await writer.read("a.md"), await writer.read("a.md", limit=1)
    assert (first["cut"], first["has_more"], first["next_offset"]) == (True, True, 1)
    assert 30_000 < len(first["content"]) <= 32_000 < len(longer["content"]) < 100_000
    assert (await writer.read("a.md", offset=1))["content"] == "short\n"


async def test_versions_are_listed_read_and_compared(writer, clock):
    await writer.write("a.md", "red\nfish\n")
    clock.advance(minutes=1)
    await writer.write("a.md", "blue\nfish\n")
    versions = await writer.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md", version=2)
    assert versions == {
        "path": "a.md",
        "versions": [
            {
                "version": 2,
                "at": "2027-01-15T08:01:00Z",
                "by": "local",
                "what": "updated",
                "size": 10,
                "sha256": sha256_of("blue\nfish\n"),
            },
            {
                "version": 1,
                "at": "2027-01-15T08:00:00Z",
                "by": "local",
                "what": "created",
                "size": 9,
                "sha256": sha256_of("red\nfish\n"),
            },
        ],
        "total": 2,
        "diff": "--- version 1\n+++ version 2\n@@ -1,2 +1,2 @@\n-red\n+blue\n fish",
    }
    assert (await writer.read("a.md", version=1))["content"] == "red\nfish\n"
    await refusal_of("not_found", writer.read("a.md", version=3))


async def test_a_difference_too_long_to_show_says_so(writer):
    await writer.write("a.md", "x\n" * 6000)
    await writer.write("a.md", "y\n" * 6000)
    versions = await writer.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md", version=2)
    assert versions["truncated"]
    assert "diff" not in versions
    assert "10000 lines" in versions["note"]


async def test_list_versions_pages_through_all_that_are_kept(writer):
    for n in range(5):
        await writer.write("a.md", f"text {n}")
    pages = [
        await writer.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md", limit=2, offset=offset)
        for offset in (0, 2, 4)
    ]
    assert [[each["version"] for each in page["versions"]] for page in pages] == [[5, 4], [3, 2], [1]]
    assert {page["total"] for page in pages} == {5}


async def test_delete_knowledge_keeps_the_text_and_restore_brings_it_back(writer):
    await writer.write("a.md", "fish")
    assert await writer.anyone.delete_knowledge(path="a.md") == {"deleted": True, "version": 2}
    assert (await writer.list_files())["total"] == 0
    await refusal_of("not_found", writer.read("a.md"))
    await refusal_of("not_found", writer.read("a.md", version=2))
    await refusal_of("not_found", writer.anyone.delete_knowledge(path="a.md"))
    assert (await writer.read("a.md", version=1))["content"] == "fish"
    assert (await writer.search("fish"))["matches"] == []
    assert await writer.anyone.restore_version(path="a.md") == {
        "path": "a.md",
        "restored": 1,
        "version": 3,
        "sha256": sha256_of("fish"),
    }
    assert (await writer.read("a.md"))["content"] == "fish"
    assert len((await writer.search("fish"))["matches"]) == 1


async def test_restore_version_brings_back_the_one_that_is_named(writer):
    for text in ("one", "two", "three"):
        await writer.write("a.md", text)
    assert (await writer.anyone.restore_version(path="a.md", version=1))["version"] == 4
    assert (await writer.read("a.md"))["content"] == "one"
    assert (await writer.anyone.restore_version(path="a.md", version=1))["version"] == 4
    await refusal_of("not_found", writer.anyone.restore_version(path="a.md", version=9))
    await refusal_of("not_found", writer.anyone.restore_version(path="none.md"))


async def test_a_deleted_file_written_again_goes_on_in_its_versions(writer):
    await writer.write("a.md", "one")
    await writer.anyone.delete_knowledge(path="a.md")
    again = await writer.write("a.md", "one")
    assert (again["status"], again["version"]) == ("created", 3)


async def test_old_versions_go_beyond_a_number(writer, monkeypatch):
    monkeypatch.setattr(file_store, "MAX_VERSIONS_PER_FILE", 3)
    for n in range(5):
        await writer.write("a.md", f"text {n}")
    versions = await writer.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md")
    assert ([each["version"] for each in versions["versions"]], versions["total"]) == ([5, 4, 3], 3)
    oldest = await writer.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md", version=3)
    assert ("diff" in oldest, "no longer stored" in oldest["note"]) == (False, True)
    assert (await writer.list_files())["files"][0]["versions"] == 3


async def test_write_overview_is_versioned_summarised_and_brought_back(writer):
    page = "---\ntool: x\n---\n# Shop\n\nWe sell fish.\n"
    assert await writer.anyone.write_overview(content=page) == {"workspace_id": LAPTOP_ID, "version": 1}
    assert (await writer.anyone.write_overview(content=page))["version"] == 1
    assert (await writer.anyone.write_overview(content="# Gone"))["version"] == 2
    assert (await writer.anyone.restore_version())["version"] == 3
    shown = await writer.anyone.get_overview(workspace_id=LAPTOP_ID)
    assert shown == {
        "readme": page,
        "workspaces": [
            {
                "workspace_id": LAPTOP_ID,
                "machine": "laptop",
                "tool": "claude-code",
                "project": "shop",
                "knowledge_count": 0,
                "session_count": 0,
                "last_activity": "2027-01-15T08:00:00Z",
                "summary": "# Shop We sell fish.",
            }
        ],
        "your_workspace": LAPTOP_ID,
    }
    assert (await writer.list_files())["total"] == 0


async def test_get_overview_shows_the_latest_first_within_its_budget(writer, clock):
    for n in range(30):
        clock.advance(minutes=1)
        await writer.anyone.register_workspace(machine=f"m{n}", tool="codex", project="shop")
        await writer.anyone.write_overview(content=f"machine {n} " + "works on the cart " * 20)
    clock.advance(minutes=1)
    await writer.write("a.md", "fish", workspace_id=LAPTOP_ID)
    shown = await writer.anyone.get_overview(max_tokens=1500)
    assert [each["workspace_id"] for each in shown["workspaces"][:2]] == [LAPTOP_ID, "m29-codex-shop"]
    assert len(shown["workspaces"]) + shown["omitted"] == 31
    few = await writer.anyone.get_overview(limit=3)
    assert (len(few["workspaces"]), few["omitted"]) == (3, 28)


@pytest.mark.parametrize("max_tokens", [100, 500, 4000])
async def test_get_overview_keeps_to_its_tokens(writer, max_tokens):
    await writer.anyone.write_overview(content='"quoted"\n' * 5000)
    for asked in ({}, {"workspace_id": LAPTOP_ID}):
        answer = await writer.team.calls.run("get_overview", asked | {"max_tokens": max_tokens}, access.LOCAL)
        assert len(answer.to_text()) <= max_tokens * 4


@pytest.mark.parametrize("max_tokens", [100, 150, 4000])
@pytest.mark.parametrize("page", ["# Shop\n", "We sell fish. " * 4600, '"\n' * 30_000])
async def test_get_overview_shows_the_workspace_with_its_page_however_long(writer, page, max_tokens):
    await writer.anyone.write_overview(content=page)
    for asked in ({}, {"workspace_id": LAPTOP_ID}):
        shown = await writer.anyone.get_overview(max_tokens=max_tokens, **asked)
        assert [each["workspace_id"] for each in shown["workspaces"]] == [LAPTOP_ID]
        assert len(json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()) <= max_tokens * 4
        assert "omitted" not in shown


async def test_counts_and_activity_follow_the_files(writer, clock):
    await writer.write("a.md", "1")
    await writer.write("b.md", "2")
    clock.advance(minutes=5)
    await writer.anyone.delete_knowledge(path="a.md")
    [shown] = (await writer.anyone.list_workspaces(machine="laptop", tool="claude-code"))["workspaces"]
    assert (shown["knowledge_count"], shown["last_activity"]) == (1, "2027-01-15T08:05:00Z")
    assert await writer.anyone.list_workspaces(machine="desk") == {"workspaces": [], "total": 0}


@pytest.mark.parametrize("mode", ["smart", "literal", "regex"])
async def test_search_knowledge_shows_the_line_and_those_around_it(writer, mode):
    await writer.write("notes/db.md", "# Pools\n\nfirst\nPgBouncer drops idle connections.\nlast\nend\n")
    await writer.write("notes/ui.md", "# Colours\n\nButtons are blue.\n")
    found = await writer.search("pgbouncer", mode=mode, context=1)
    [match] = found["matches"]
    assert (match.pop("relevance", 0.5) > 0, found["truncated"]) == (True, False)
    assert match == {
        "workspace_id": LAPTOP_ID,
        "path": "notes/db.md",
        "line": 4,
        "text": "PgBouncer drops idle connections.",
        "before": ["first"],
        "after": ["last"],
    }


async def test_search_knowledge_stays_in_the_workspace_that_is_named(writer):
    await writer.write("a.md", "fish here")
    await writer.anyone.register_workspace(machine="desk", tool="codex", project="blog")
    await writer.write("b.md", "fish there", workspace_id="desk-codex-blog")
    for mode in ("smart", "literal", "regex"):
        both = await writer.search("fish", mode=mode)
        one = await writer.search("fish", mode=mode, workspace_id="desk-codex-blog")
        assert {each["path"] for each in both["matches"]} == {"a.md", "b.md"}
        assert [each["path"] for each in one["matches"]] == ["b.md"]


async def test_search_knowledge_minds_case_and_patterns(writer):
    await writer.write("a.md", "Fish\nfish\nf.sh\n")
    lines = [
        [each["line"] for each in (await writer.search(query, mode=mode, **more))["matches"]]
        for query, mode, more in (
            ("fish", "literal", {"case_sensitive": True}),
            ("f.sh", "literal", {}),
            ("f.sh", "regex", {}),
            ("^F", "regex", {"case_sensitive": True}),
        )
    ]
    assert lines == [[2], [3], [1, 2, 3], [1]]
    await refusal_of("invalid", writer.search("(", mode="regex"))


async def test_search_knowledge_says_when_there_is_more(writer):
    await writer.write("a.md", "fish\n" * 10)
    found = await writer.search("fish", mode="literal", limit=4)
    assert (len(found["matches"]), found["truncated"]) == (4, True)
    await writer.write("long.md", ("wide " * 90 + "\n") * 500)
    wide = await writer.search("wide", mode="literal", limit=200, context=20)
    assert wide["truncated"]
    assert len(str(wide)) < 100_000


async def test_search_knowledge_is_not_stalled_by_a_catastrophic_pattern(writer):
    await writer.write("a.md", ("a" * 5000 + "!\n") * 20)
    assert await writer.search("(a+)+$", mode="regex") == {"matches": [], "truncated": False}


async def test_search_global_and_get_by_id_know_knowledge_files(writer):
    await writer.write("notes/db.md", "# Pools\nPgBouncer drops idle connections.")
    alice = await writer.team.agent("alice")
    [row] = (await alice.search_global(query="pgbouncer idle"))["results"]
    assert (row["kind"], row["project"], row["title"], row["workspace_id"], row["path"], row.get("type")) == (
        "knowledge",
        "shop",
        "Pools",
        LAPTOP_ID,
        "notes/db.md",
        None,
    )
    kept = await alice.get_by_id(id=row["id"])
    assert kept["content"] == "# Pools\nPgBouncer drops idle connections."
    assert kept["links"] == {"workspace_id": LAPTOP_ID, "path": "notes/db.md"}
    await writer.anyone.delete_knowledge(path="notes/db.md")
    assert (await alice.get_by_id(id=row["id"]))["found"] is False


async def test_secrets_are_masked_and_the_same_text_is_still_unchanged(writer):
    text = f"# Cloud\nkey {SECRET_KEY} here"
    written = await writer.upload("a.md", text)
    assert written["masked"] == ["aws key id"]
    kept = await writer.read("a.md")
    assert (SECRET_KEY in kept["content"], kept["sha256"]) == (False, written["sha256"])
    assert (await writer.upload("a.md", text))["status"] == "unchanged"
    assert (await writer.upload("a.md", "other", base_sha256=sha256_of(text)))["status"] == "updated"
    assert (await writer.anyone.write_overview(content=text))["masked"] == written["masked"]


async def test_secrets_are_refused_where_the_server_says_so(database, clock):
    team = Team(Calls(database, CATALOGUE, Settings(secrets="refuse"), clock), clock)
    writer = await register_writer(team)
    await refusal_of("invalid", writer.write("a.md", f"key {SECRET_KEY}"))
    await refusal_of("invalid", writer.anyone.write_overview(content=f"key {SECRET_KEY}"))
    assert (await writer.list_files())["total"] == 0


async def test_every_change_is_told_and_an_unchanged_file_is_not(writer):
    await writer.write("a.md", "1")
    await writer.write("a.md", "1")
    await writer.anyone.delete_knowledge(path="a.md")
    await writer.anyone.restore_version(path="a.md")
    await writer.anyone.write_overview(content="x")
    rows = await writer.team.database.read(
        lambda tx: tx.all("select kind, uri, body from event where project = $1 order by n", "shop")
    )
    place = f"workspace://{LAPTOP_ID}"
    assert [(row["kind"], row["uri"]) for row in rows] == [
        ("WorkspaceRegistered", place),
        ("KnowledgeWritten", f"{place}/a.md"),
        ("KnowledgeDeleted", f"{place}/a.md"),
        ("KnowledgeWritten", f"{place}/a.md"),
        ("OverviewWritten", place),
    ]
    told = (await writer.anyone.admin(action="audit_log", event_type="write_knowledge"))["events"]
    assert [(each["project"], each["detail"]) for each in told] == [("shop", f"{LAPTOP_ID} a.md")] * 2


async def test_writers_at_once_lose_no_version(writer):
    written = await asyncio.gather(*(writer.write("a.md", f"text {n}") for n in range(8)))
    assert sorted(each["version"] for each in written) == list(range(1, 9))
    assert [each["status"] for each in written].count("created") == 1


async def test_resources_give_a_file_and_an_overview(writer):
    await writer.write("notes/a b.md", "fish")
    told = await writer.team.database.read(
        lambda tx: tx.all("select uri from event where project = $1 order by n desc limit 1", "shop")
    )
    assert told[0]["uri"] == f"workspace://{LAPTOP_ID}/notes/a%20b.md"
    await writer.anyone.write_overview(content="# Here")
    resources = writer.team.calls.catalogue.resources

    async def read(uri: str, caller: access.Caller = access.LOCAL):
        resource, given = next((each, found) for each in resources if (found := each.match_uri(uri)))
        return (await writer.team.calls.run_operation(resource.operation, given, caller)).reply

    assert (await read(f"workspace://{LAPTOP_ID}/notes/a%20b.md")).content == "fish"
    assert (await read(f"workspace://{LAPTOP_ID}")).readme == "# Here"
    stranger = access.Caller("agent", frozenset({"bank"}), "key_x")
    await refusal_of("not_found", read(f"workspace://{LAPTOP_ID}", stranger))
    await refusal_of("not_found", read(f"workspace://{LAPTOP_ID}/notes/a%20b.md", stranger))
    await refusal_of("invalid", read(f"workspace://{LAPTOP_ID}/..%2f..%2fetc/passwd"))


async def test_get_by_id_shows_the_beginning_of_a_long_file(writer):
    await writer.write("notes/long.md", "# Long\n" + "quokka line\n" * 10_000)
    alice = await writer.team.agent("alice")
    [row] = (await alice.search_global(query="quokka"))["results"]
    kept = await alice.get_by_id(id=row["id"])
    assert (kept["truncated"], kept["content"].startswith("# Long"), len(kept["content"]) < 40_000) == (
        True,
    ) * 3
