"""What a checkout shows at cited places."""

import asyncio
import os
import subprocess
from dataclasses import replace

import pytest

from commonplace.client.verify import verification
from patience import PATIENCE_SECONDS

POOL = """import os

SIZE = 10


class Pool:
    def open(self):
        return SIZE

    def close(self):
        return None
"""


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "pool.py").write_text(POOL)
    return tmp_path


def look(root, place, fingerprint=""):
    return verification.check_citation(
        root, {"document": "doc_000000000000", "place": place, "fingerprint": fingerprint}
    )


def state(root, place, fingerprint=""):
    return look(root, place, fingerprint).state


@pytest.mark.parametrize(
    ("place", "when_empty"),
    [
        ("db/pool.py", "drifted"),
        ("db/pool.py:3", "gone"),
        ("db/pool.py:2-3", "gone"),
        ("db/pool.py:3:7", "gone"),
        ("db/pool.py#L3", "gone"),
        ("db/pool.py#L3-L8", "gone"),
        ("db/pool.py#SIZE", "gone"),
        ("db/pool.py#Pool.open", "gone"),
        ("db/pool.py#Pool::open", "gone"),
        ("db/pool.py::Pool::open", "gone"),
        ("db/pool.py#Pool", "gone"),
        ("db\\pool.py#Pool", "gone"),
        ("src/../db/pool.py#Pool", "gone"),
        ("./db/pool.py:3", "gone"),
    ],
)
def test_found_is_fresh_then_drifted_then_gone(checkout, place, when_empty):
    first = look(checkout, place)
    assert (first.state, first.line) == ("fresh", 0)
    assert look(checkout, place, first.fingerprint) == first
    file = checkout / "db" / "pool.py"
    file.write_text(POOL.replace("SIZE = 10", "SIZE = 20").replace("return SIZE", "return SIZE * 2"))
    assert state(checkout, place, first.fingerprint) == "drifted"
    file.write_text("")
    assert state(checkout, place, first.fingerprint) == when_empty
    file.unlink()
    assert state(checkout, place, first.fingerprint) == "gone"


def test_found_of_another_symbol_stays_fresh(checkout):
    finding = look(checkout, "db/pool.py#Pool.close")
    (checkout / "db" / "pool.py").write_text("# moved down\n" + POOL.replace("SIZE = 10", "SIZE = 20"))
    assert state(checkout, "db/pool.py#Pool.close", finding.fingerprint) == "fresh"


def test_found_of_lines_that_moved_says_where_they_stand_now(checkout):
    finding = look(checkout, "db/pool.py:10-11")
    (checkout / "db" / "pool.py").write_text("# one\n\n# two\n" + POOL)
    assert look(checkout, "db/pool.py:10-11", finding.fingerprint) == replace(finding, line=13)
    (checkout / "db" / "pool.py").write_text(POOL.replace("SIZE = 10\n", ""))
    assert look(checkout, "db/pool.py:10-11", finding.fingerprint) == replace(finding, line=9)


def test_found_of_lines_that_moved_to_two_places_is_drifted(checkout):
    finding = look(checkout, "db/pool.py:3")
    (checkout / "db" / "pool.py").write_text("SIZE = 10\n\n\n\nSIZE = 10\n")
    assert state(checkout, "db/pool.py:3", finding.fingerprint) == "drifted"


def test_found_of_a_blank_line_is_fresh(checkout):
    finding = look(checkout, "db/pool.py:2")
    assert finding.state == "fresh"
    (checkout / "db" / "pool.py").write_text(POOL.replace("import os\n", "import os\nimport re\n"))
    assert state(checkout, "db/pool.py:2", finding.fingerprint) == "drifted"


@pytest.mark.parametrize(
    "place", ["db/pool.py:400", "db/pool.py:30-40", "db/pool.py/more.py", "nowhere.py", "no/"]
)
def test_found_is_gone_beyond_what_is_there(checkout, place):
    assert state(checkout, place) == "gone"


@pytest.mark.parametrize(
    "place", ["db", "db/", "db\\", ".", "empty.py", "inner.py", "broken.py#café", "broken.py:2"]
)
def test_found_is_fresh_where_something_stands(checkout, place):
    (checkout / "empty.py").touch()
    (checkout / "inner.py").symlink_to(checkout / "db" / "pool.py")
    (checkout / "broken.py").write_bytes(b"# caf\xe9\xff\ndef caf\xc3\xa9():\n    return '\xe9'\n")
    assert state(checkout, place) == "fresh"


def test_found_of_a_folder_is_fresh_until_it_goes(checkout):
    finding = look(checkout, "db/")
    (checkout / "db" / "more.py").touch()
    assert look(checkout, "db/", finding.fingerprint) == finding
    (checkout / "db").rename(checkout / "database")
    assert state(checkout, "db/", finding.fingerprint) == "gone"


def test_found_of_a_binary_file_is_judged_as_a_whole(checkout):
    (checkout / "logo.png").write_bytes(b"\x89PNG\0\x01")
    finding = look(checkout, "logo.png")
    assert [finding.state, state(checkout, "logo.png:1"), state(checkout, "logo.png#PNG")] == [
        "fresh",
        "unchecked",
        "unchecked",
    ]
    (checkout / "logo.png").write_bytes(b"\x89PNG\0\x02")
    assert state(checkout, "logo.png", finding.fingerprint) == "drifted"


@pytest.mark.parametrize(
    "place",
    [
        "../outside.py",
        "/etc/passwd",
        "db/link.py",
        "linked/outside.py",
        "loop.py",
        "pipe",
        "large.sql",
        "large.sql:1",
        "db#Pool",
        "https://example.org/pool.py",
        "db/*.py",
        "x" * 400,
    ],
)
@pytest.mark.parametrize("fingerprint", ["", "1f"])
def test_found_is_unchecked_where_it_cannot_be_judged(checkout, place, fingerprint):
    (checkout.parent / "outside.py").write_text("x = 1\n")
    (checkout / "db" / "link.py").symlink_to(checkout.parent / "outside.py")
    (checkout / "linked").symlink_to(checkout.parent)
    (checkout / "loop.py").symlink_to(checkout / "loop.py")
    os.mkfifo(checkout / "pipe")
    with (checkout / "large.sql").open("wb") as large:
        large.truncate(5_000_001)
    assert look(checkout, place, fingerprint) == verification.CitationFinding(
        "doc_000000000000", place, "unchecked"
    )


def test_found_measures_against_the_cited_commit(checkout):
    def git(*arguments):
        run = subprocess.run(
            ["git", "-C", str(checkout), *arguments], check=True, capture_output=True, text=True
        )
        return run.stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "first")
    commit = git("rev-parse", "HEAD")
    places = [f"{place}@{commit}" for place in ("db", "db/pool.py", "db/pool.py#Pool", "db/pool.py:3")]
    assert [state(checkout, place) for place in places] == ["fresh"] * 4
    (checkout / "db" / "pool.py").write_text("# more\n" + POOL.replace("return None", "return 1"))
    assert [state(checkout, place) for place in places] == ["fresh", "drifted", "drifted", "fresh"]


async def test_verify_tells_the_server_and_the_next_query_says_so(team, checkout):
    alice = await team.agent("alice")
    for name in ("open", "shut", "wide"):
        await alice.store(
            title=f"Walrus {name}",
            content=f"The walrus pool can {name}.",
            memory_type="adr",
            files_related=["large.sql" if name == "wide" else f"db/pool.py#{name}"],
        )
    with (checkout / "large.sql").open("wb") as large:
        large.truncate(5_000_001)
    loop = asyncio.get_running_loop()

    def call(name, arguments):
        return asyncio.run_coroutine_threadsafe(alice.call(name, **arguments), loop).result(PATIENCE_SECONDS)

    totals = await asyncio.to_thread(verification.verify_citations, call, checkout, "shop")
    assert totals == {"fresh": 1, "gone": 1, "unchecked": 1}
    found = await alice.query(query="walrus", limit=5)
    assert [each.get("warning") for each in found["results"]] == [
        None,
        None,
        "evidence gone: db/pool.py#shut",
    ]


async def test_verify_sends_cited_lines_only_when_asked_and_keeps_how_they_were(team, checkout):
    alice = await team.agent("alice")
    made = await alice.store(
        title="Walrus pool", content="Ten.", memory_type="adr", files_related=["db/pool.py:3"]
    )
    loop = asyncio.get_running_loop()

    def call(name, arguments):
        return asyncio.run_coroutine_threadsafe(alice.call(name, **arguments), loop).result(PATIENCE_SECONDS)

    async def verify(**how):
        await asyncio.to_thread(verification.verify_citations, call, checkout, "shop", **how)
        (row,) = (await alice.call("memory_list_evidence", project="shop", doc_id=made["id"]))["evidence"]
        return row["state"], row.get("before"), row.get("now")

    assert await verify() == ("fresh", None, None)
    assert await verify(with_lines=True) == ("fresh", "SIZE = 10", None)
    (checkout / "db" / "pool.py").write_text(POOL.replace("10", "20"))
    assert await verify() == ("drifted", "SIZE = 10", None)
    assert await verify(with_lines=True) == ("drifted", "SIZE = 10", "SIZE = 20")
    (checkout / "db" / "pool.py").unlink()
    assert await verify(with_lines=True) == ("gone", "SIZE = 10", None)


def test_lines_of_the_cited_commit_are_found(checkout):
    def git(*arguments):
        subprocess.run(["git", "-C", str(checkout), *arguments], check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "first")
    head = (checkout / ".git" / (checkout / ".git/HEAD").read_text().split()[1]).read_text().strip()
    (checkout / "db" / "pool.py").write_text(POOL.replace("10", "20"))
    found = look(checkout, f"db/pool.py:3@{head}")
    assert (found.state, found.text_before, found.text) == ("drifted", "SIZE = 10", "SIZE = 20")
