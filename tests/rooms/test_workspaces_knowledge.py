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
KEY = "AKIAQWERTYUIOPASDFGH"


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


class Desk:
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

    async def listed(self, **more):
        return await self.anyone.list_knowledge(workspace_id=LAPTOP_ID, **more)

    async def search(self, query: str, **more):
        return await self.anyone.search_knowledge(query=query, **more)


async def opened(team: Team) -> Desk:
    registered = await team.anyone().register_workspace(machine="laptop", tool="claude-code", project="shop")
    return Desk(team, registered["write_token"])


@pytest.fixture
async def desk(team):
    return await opened(team)


async def refused(code: str, running) -> errors.Refusal:
    with pytest.raises(errors.Refusal) as refusal:
        await running
    assert refusal.value.code == code
    return refusal.value


async def test_write_knowledge_is_listed_and_read(desk):
    content = "# Cart\n\nTotals are in cents.\n"
    assert await desk.write("notes/cart.md", content) == {
        "status": "created",
        "sha256": digest(content),
        "version": 1,
        "workspace_id": LAPTOP_ID,
    }
    assert await desk.listed() == {
        "files": [
            {
                "path": "notes/cart.md",
                "title": "Cart",
                "size": len(content),
                "sha256": digest(content),
                "modified_at": "2027-01-15T08:00:00Z",
                "versions": 1,
            }
        ],
        "total": 1,
    }
    assert await desk.read("notes/cart.md") == {
        "path": "notes/cart.md",
        "content": content,
        "size": len(content),
        "sha256": digest(content),
        "modified_at": "2027-01-15T08:00:00Z",
        "version": 1,
        "total_lines": 3,
        "has_more": False,
    }


async def test_upload_knowledge_tells_created_updated_and_unchanged(desk):
    statuses = [(await desk.upload("a.md", text))["status"] for text in ("one", "one", "two", "one")]
    assert statuses == ["created", "unchanged", "updated", "updated"]
    assert (await desk.listed())["files"][0]["versions"] == 3


async def test_upload_knowledge_refuses_a_wrong_digest(desk):
    await refused("invalid", desk.upload("a.md", "one", sha256=digest("two")))
    assert (await desk.listed())["total"] == 0
    assert (await desk.upload("a.md", "one", sha256=digest("one").upper()))["status"] == "created"


async def test_a_write_from_another_text_than_the_stored_one_is_a_conflict(desk):
    first = await desk.upload("a.md", "one")
    second = await desk.write("a.md", "two", base_sha256=first["sha256"])
    conflict = await refused("conflict", desk.upload("a.md", "three", base_sha256=first["sha256"]))
    assert conflict.details == {"sha256": second["sha256"], "version": 2}
    await refused("conflict", desk.write("none.md", "x", base_sha256=digest("y")))
    assert (await desk.read("a.md"))["content"] == "two"


async def test_a_repeated_upload_whose_answer_was_lost_is_no_conflict(desk):
    first = await desk.upload("a.md", "one")
    for status in ("updated", "unchanged"):
        again = await desk.upload("a.md", "two", base_sha256=first["sha256"])
        assert (again["status"], again["version"]) == (status, 2)


@pytest.mark.parametrize(("size", "code"), [(1_048_576, None), (1_048_577, "too_large")])
async def test_a_file_has_at_most_a_megabyte(desk, size, code):
    writing = desk.upload("big.md", "é" * (size // 2) + "x" * (size % 2))
    if code:
        await refused(code, writing)
    else:
        assert (await writing)["status"] == "created"


async def test_an_overview_has_at_most_64_kilobytes(desk):
    await refused("too_large", desk.anyone.write_overview(content="x" * 65_537))
    assert (await desk.anyone.write_overview(content="x" * 65_536))["version"] == 1


async def test_list_knowledge_pages_in_order_and_by_prefix(desk):
    for path in ("b/2.md", "a.md", "b/1.md", "bb.md"):
        await desk.write(path, path)
    page = await desk.listed(limit=2, offset=1)
    assert ([each["path"] for each in page["files"]], page["total"]) == (["b/1.md", "b/2.md"], 4)
    assert [each["path"] for each in (await desk.listed(prefix="b/"))["files"]] == ["b/1.md", "b/2.md"]


async def test_read_knowledge_gives_some_lines(desk):
    await desk.write("a.md", "".join(f"line {n}\n" for n in range(10)))
    part = await desk.read("a.md", offset=3, limit=2)
    assert (part["content"], part["total_lines"], part["has_more"]) == ("line 3\nline 4\n", 10, True)
    rest = await desk.read("a.md", offset=8, limit=5)
    assert (rest["content"], rest["has_more"]) == ("line 8\nline 9\n", False)


@pytest.mark.parametrize(("asked", "most"), [({}, 32_000), ({"limit": 1000}, 100_000)])
async def test_read_knowledge_is_paged_to_the_end_in_replies_that_a_model_can_take(desk, asked, most):
    content = "".join(f'line {n}: "{"é" * (n % 300)}"\n' for n in range(2000))
    await desk.write("a.md", content)
    pages = [await desk.read("a.md", **asked)]
    while pages[-1]["has_more"]:
        pages.append(await desk.read("a.md", offset=pages[-1]["next_offset"], **asked))
    assert "".join(page["content"] for page in pages) == content
    assert all(len(json.dumps(page, ensure_ascii=False).encode()) < most + 500 for page in pages)
    assert not any(page.get("cut") or page["content"][-1] != "\n" for page in pages)


async def test_read_knowledge_cuts_a_line_that_is_too_long_and_says_so(desk):
    await desk.write("a.md", "x" * 200_000 + "\nshort\n")
    first, longer = await desk.read("a.md"), await desk.read("a.md", limit=1)
    assert (first["cut"], first["has_more"], first["next_offset"]) == (True, True, 1)
    assert 30_000 < len(first["content"]) <= 32_000 < len(longer["content"]) < 100_000
    assert (await desk.read("a.md", offset=1))["content"] == "short\n"


async def test_versions_are_listed_read_and_compared(desk, clock):
    await desk.write("a.md", "red\nfish\n")
    clock.advance(minutes=1)
    await desk.write("a.md", "blue\nfish\n")
    versions = await desk.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md", version=2)
    assert versions == {
        "path": "a.md",
        "versions": [
            {
                "version": 2,
                "at": "2027-01-15T08:01:00Z",
                "by": "local",
                "what": "updated",
                "size": 10,
                "sha256": digest("blue\nfish\n"),
            },
            {
                "version": 1,
                "at": "2027-01-15T08:00:00Z",
                "by": "local",
                "what": "created",
                "size": 9,
                "sha256": digest("red\nfish\n"),
            },
        ],
        "total": 2,
        "diff": "--- version 1\n+++ version 2\n@@ -1,2 +1,2 @@\n-red\n+blue\n fish",
    }
    assert (await desk.read("a.md", version=1))["content"] == "red\nfish\n"
    await refused("not_found", desk.read("a.md", version=3))


async def test_a_difference_too_long_to_show_says_so(desk):
    await desk.write("a.md", "x\n" * 6000)
    await desk.write("a.md", "y\n" * 6000)
    versions = await desk.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md", version=2)
    assert versions["truncated"]
    assert "diff" not in versions
    assert "10000 lines" in versions["note"]


async def test_list_versions_pages_through_all_that_are_kept(desk):
    for n in range(5):
        await desk.write("a.md", f"text {n}")
    pages = [
        await desk.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md", limit=2, offset=offset)
        for offset in (0, 2, 4)
    ]
    assert [[each["version"] for each in page["versions"]] for page in pages] == [[5, 4], [3, 2], [1]]
    assert {page["total"] for page in pages} == {5}


async def test_delete_knowledge_keeps_the_text_and_restore_brings_it_back(desk):
    await desk.write("a.md", "fish")
    assert await desk.anyone.delete_knowledge(path="a.md") == {"deleted": True, "version": 2}
    assert (await desk.listed())["total"] == 0
    await refused("not_found", desk.read("a.md"))
    await refused("not_found", desk.read("a.md", version=2))
    await refused("not_found", desk.anyone.delete_knowledge(path="a.md"))
    assert (await desk.read("a.md", version=1))["content"] == "fish"
    assert (await desk.search("fish"))["matches"] == []
    assert await desk.anyone.restore_version(path="a.md") == {
        "path": "a.md",
        "restored": 1,
        "version": 3,
        "sha256": digest("fish"),
    }
    assert (await desk.read("a.md"))["content"] == "fish"
    assert len((await desk.search("fish"))["matches"]) == 1


async def test_restore_version_brings_back_the_one_that_is_named(desk):
    for text in ("one", "two", "three"):
        await desk.write("a.md", text)
    assert (await desk.anyone.restore_version(path="a.md", version=1))["version"] == 4
    assert (await desk.read("a.md"))["content"] == "one"
    assert (await desk.anyone.restore_version(path="a.md", version=1))["version"] == 4
    await refused("not_found", desk.anyone.restore_version(path="a.md", version=9))
    await refused("not_found", desk.anyone.restore_version(path="none.md"))


async def test_a_deleted_file_written_again_goes_on_in_its_versions(desk):
    await desk.write("a.md", "one")
    await desk.anyone.delete_knowledge(path="a.md")
    again = await desk.write("a.md", "one")
    assert (again["status"], again["version"]) == ("created", 3)


async def test_old_versions_go_beyond_a_number(desk, monkeypatch):
    monkeypatch.setattr(file_store, "MAX_VERSIONS_PER_FILE", 3)
    for n in range(5):
        await desk.write("a.md", f"text {n}")
    versions = await desk.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md")
    assert ([each["version"] for each in versions["versions"]], versions["total"]) == ([5, 4, 3], 3)
    oldest = await desk.anyone.list_versions(workspace_id=LAPTOP_ID, path="a.md", version=3)
    assert ("diff" in oldest, "no longer stored" in oldest["note"]) == (False, True)
    assert (await desk.listed())["files"][0]["versions"] == 3


async def test_write_overview_is_versioned_summarised_and_brought_back(desk):
    page = "---\ntool: x\n---\n# Shop\n\nWe sell fish.\n"
    assert await desk.anyone.write_overview(content=page) == {"workspace_id": LAPTOP_ID, "version": 1}
    assert (await desk.anyone.write_overview(content=page))["version"] == 1
    assert (await desk.anyone.write_overview(content="# Gone"))["version"] == 2
    assert (await desk.anyone.restore_version())["version"] == 3
    shown = await desk.anyone.get_overview(workspace_id=LAPTOP_ID)
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
    assert (await desk.listed())["total"] == 0


async def test_get_overview_shows_the_latest_first_within_its_budget(desk, clock):
    for n in range(30):
        clock.advance(minutes=1)
        await desk.anyone.register_workspace(machine=f"m{n}", tool="codex", project="shop")
        await desk.anyone.write_overview(content=f"machine {n} " + "works on the cart " * 20)
    clock.advance(minutes=1)
    await desk.write("a.md", "fish", workspace_id=LAPTOP_ID)
    shown = await desk.anyone.get_overview(max_tokens=1500)
    assert [each["workspace_id"] for each in shown["workspaces"][:2]] == [LAPTOP_ID, "m29-codex-shop"]
    assert len(shown["workspaces"]) + shown["omitted"] == 31
    few = await desk.anyone.get_overview(limit=3)
    assert (len(few["workspaces"]), few["omitted"]) == (3, 28)


@pytest.mark.parametrize("max_tokens", [100, 500, 4000])
async def test_get_overview_keeps_to_its_tokens(desk, max_tokens):
    await desk.anyone.write_overview(content='"quoted"\n' * 5000)
    for asked in ({}, {"workspace_id": LAPTOP_ID}):
        answer = await desk.team.calls.run("get_overview", asked | {"max_tokens": max_tokens}, access.LOCAL)
        assert len(answer.to_text()) <= max_tokens * 4


@pytest.mark.parametrize("max_tokens", [100, 150, 4000])
@pytest.mark.parametrize("page", ["# Shop\n", "We sell fish. " * 4600, '"\n' * 30_000])
async def test_get_overview_shows_the_workspace_with_its_page_however_long(desk, page, max_tokens):
    await desk.anyone.write_overview(content=page)
    for asked in ({}, {"workspace_id": LAPTOP_ID}):
        shown = await desk.anyone.get_overview(max_tokens=max_tokens, **asked)
        assert [each["workspace_id"] for each in shown["workspaces"]] == [LAPTOP_ID]
        assert len(json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()) <= max_tokens * 4
        assert "omitted" not in shown


async def test_counts_and_activity_follow_the_files(desk, clock):
    await desk.write("a.md", "1")
    await desk.write("b.md", "2")
    clock.advance(minutes=5)
    await desk.anyone.delete_knowledge(path="a.md")
    [shown] = (await desk.anyone.list_workspaces(machine="laptop", tool="claude-code"))["workspaces"]
    assert (shown["knowledge_count"], shown["last_activity"]) == (1, "2027-01-15T08:05:00Z")
    assert await desk.anyone.list_workspaces(machine="desk") == {"workspaces": [], "total": 0}


@pytest.mark.parametrize("mode", ["smart", "literal", "regex"])
async def test_search_knowledge_shows_the_line_and_those_around_it(desk, mode):
    await desk.write("notes/db.md", "# Pools\n\nfirst\nPgBouncer drops idle connections.\nlast\nend\n")
    await desk.write("notes/ui.md", "# Colours\n\nButtons are blue.\n")
    found = await desk.search("pgbouncer", mode=mode, context=1)
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


async def test_search_knowledge_stays_in_the_workspace_that_is_named(desk):
    await desk.write("a.md", "fish here")
    await desk.anyone.register_workspace(machine="desk", tool="codex", project="blog")
    await desk.write("b.md", "fish there", workspace_id="desk-codex-blog")
    for mode in ("smart", "literal", "regex"):
        both = await desk.search("fish", mode=mode)
        one = await desk.search("fish", mode=mode, workspace_id="desk-codex-blog")
        assert {each["path"] for each in both["matches"]} == {"a.md", "b.md"}
        assert [each["path"] for each in one["matches"]] == ["b.md"]


async def test_search_knowledge_minds_case_and_patterns(desk):
    await desk.write("a.md", "Fish\nfish\nf.sh\n")
    lines = [
        [each["line"] for each in (await desk.search(query, mode=mode, **more))["matches"]]
        for query, mode, more in (
            ("fish", "literal", {"case_sensitive": True}),
            ("f.sh", "literal", {}),
            ("f.sh", "regex", {}),
            ("^F", "regex", {"case_sensitive": True}),
        )
    ]
    assert lines == [[2], [3], [1, 2, 3], [1]]
    await refused("invalid", desk.search("(", mode="regex"))


async def test_search_knowledge_says_when_there_is_more(desk):
    await desk.write("a.md", "fish\n" * 10)
    found = await desk.search("fish", mode="literal", limit=4)
    assert (len(found["matches"]), found["truncated"]) == (4, True)
    await desk.write("long.md", ("wide " * 90 + "\n") * 500)
    wide = await desk.search("wide", mode="literal", limit=200, context=20)
    assert wide["truncated"]
    assert len(str(wide)) < 100_000


async def test_search_knowledge_is_not_stalled_by_a_catastrophic_pattern(desk):
    await desk.write("a.md", ("a" * 5000 + "!\n") * 20)
    assert await desk.search("(a+)+$", mode="regex") == {"matches": [], "truncated": False}


async def test_search_global_and_get_by_id_know_knowledge_files(desk):
    await desk.write("notes/db.md", "# Pools\nPgBouncer drops idle connections.")
    alice = await desk.team.agent("alice")
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
    await desk.anyone.delete_knowledge(path="notes/db.md")
    assert not (await alice.get_by_id(id=row["id"]))["found"]


async def test_secrets_are_masked_and_the_same_text_is_still_unchanged(desk):
    text = f"# Cloud\nkey {KEY} here"
    written = await desk.upload("a.md", text)
    assert written["masked"] == ["aws key id"]
    kept = await desk.read("a.md")
    assert (KEY in kept["content"], kept["sha256"]) == (False, written["sha256"])
    assert (await desk.upload("a.md", text))["status"] == "unchanged"
    assert (await desk.upload("a.md", "other", base_sha256=digest(text)))["status"] == "updated"
    assert (await desk.anyone.write_overview(content=text))["masked"] == written["masked"]


async def test_secrets_are_refused_where_the_server_says_so(database, clock):
    team = Team(Calls(database, CATALOGUE, Settings(secrets="refuse"), clock), clock)
    desk = await opened(team)
    await refused("invalid", desk.write("a.md", f"key {KEY}"))
    await refused("invalid", desk.anyone.write_overview(content=f"key {KEY}"))
    assert (await desk.listed())["total"] == 0


async def test_every_change_is_told_and_an_unchanged_file_is_not(desk):
    await desk.write("a.md", "1")
    await desk.write("a.md", "1")
    await desk.anyone.delete_knowledge(path="a.md")
    await desk.anyone.restore_version(path="a.md")
    await desk.anyone.write_overview(content="x")
    rows = await desk.team.database.read(
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
    told = (await desk.anyone.admin(action="audit_log", event_type="write_knowledge"))["events"]
    assert [(each["project"], each["detail"]) for each in told] == [("shop", f"{LAPTOP_ID} a.md")] * 2


async def test_writers_at_once_lose_no_version(desk):
    written = await asyncio.gather(*(desk.write("a.md", f"text {n}") for n in range(8)))
    assert sorted(each["version"] for each in written) == list(range(1, 9))
    assert [each["status"] for each in written].count("created") == 1


async def test_resources_give_a_file_and_an_overview(desk):
    await desk.write("notes/a b.md", "fish")
    told = await desk.team.database.read(
        lambda tx: tx.all("select uri from event where project = $1 order by n desc limit 1", "shop")
    )
    assert told[0]["uri"] == f"workspace://{LAPTOP_ID}/notes/a%20b.md"
    await desk.anyone.write_overview(content="# Here")
    resources = desk.team.calls.catalogue.resources

    async def read(uri: str, caller: access.Caller = access.LOCAL):
        resource, given = next((each, found) for each in resources if (found := each.match_uri(uri)))
        return (await desk.team.calls.run_operation(resource.operation, given, caller)).reply

    assert (await read(f"workspace://{LAPTOP_ID}/notes/a%20b.md")).content == "fish"
    assert (await read(f"workspace://{LAPTOP_ID}")).readme == "# Here"
    stranger = access.Caller("agent", frozenset({"bank"}), "key_x")
    await refused("not_found", read(f"workspace://{LAPTOP_ID}", stranger))
    await refused("not_found", read(f"workspace://{LAPTOP_ID}/notes/a%20b.md", stranger))
    await refused("invalid", read(f"workspace://{LAPTOP_ID}/..%2f..%2fetc/passwd"))


async def test_get_by_id_shows_the_beginning_of_a_long_file(desk):
    await desk.write("notes/long.md", "# Long\n" + "quokka line\n" * 10_000)
    alice = await desk.team.agent("alice")
    [row] = (await alice.search_global(query="quokka"))["results"]
    kept = await alice.get_by_id(id=row["id"])
    assert (kept["truncated"], kept["content"].startswith("# Long"), len(kept["content"]) < 40_000) == (
        True,
    ) * 3
