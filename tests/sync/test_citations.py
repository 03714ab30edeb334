"""What a checkout shows at cited places."""

import asyncio
import subprocess

import pytest

from commonplace.sync import citations

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


def cited(path="db/pool.py", line=0, symbol="", fingerprint="", committed=""):
    return {
        "document": "doc_000000000000",
        "place": "it",
        "path": path,
        "line": line,
        "symbol": symbol,
        "fingerprint": fingerprint,
        "committed": committed,
    }


@pytest.mark.parametrize(
    "place", [{}, {"line": 3}, {"symbol": "SIZE"}, {"symbol": "Pool.open"}, {"symbol": "Pool"}]
)
def test_found_is_fresh_then_drifted_then_gone(checkout, place):
    first = citations.found(checkout, cited(**place))
    assert first["state"] == "fresh"
    known = cited(**place, fingerprint=first["fingerprint"])
    assert citations.found(checkout, known) == first
    file = checkout / "db" / "pool.py"
    file.write_text(POOL.replace("SIZE = 10", "SIZE = 20").replace("return SIZE", "return SIZE * 2"))
    assert citations.found(checkout, known)["state"] == "drifted"
    file.write_text("")
    assert citations.found(checkout, known)["state"] == "gone"


def test_found_of_another_symbol_stays_fresh(checkout):
    known = cited(
        symbol="Pool.close", fingerprint=citations.found(checkout, cited(symbol="Pool.close"))["fingerprint"]
    )
    (checkout / "db" / "pool.py").write_text("# moved down\n" + POOL.replace("SIZE = 10", "SIZE = 20"))
    assert citations.found(checkout, known)["state"] == "fresh"


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "db/link.py", "nowhere.py"])
def test_found_never_reads_outside_the_checkout(checkout, path):
    (checkout.parent / "outside.py").write_text("x = 1\n")
    (checkout / "db" / "link.py").symlink_to(checkout.parent / "outside.py")
    assert citations.found(checkout, cited(path=path))["state"] == "gone"


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
    assert citations.found(checkout, cited(committed=commit))["state"] == "fresh"
    (checkout / "db" / "pool.py").write_text(POOL + "\n# more\n")
    assert citations.found(checkout, cited(committed=commit))["state"] == "drifted"


async def test_verify_tells_the_server_and_the_next_query_says_so(house, checkout):
    alice = await house.agent("alice")
    for name in ("open", "shut"):
        await alice.store(
            title=f"Walrus {name}",
            content=f"The walrus pool can {name}.",
            memory_type="adr",
            files_related=[f"db/pool.py#{name}"],
        )
    loop = asyncio.get_running_loop()

    def call(name, arguments):
        return asyncio.run_coroutine_threadsafe(alice.call(name, **arguments), loop).result(5)

    totals = await asyncio.to_thread(citations.verify, call, checkout, "shop")
    assert totals == {"fresh": 1, "gone": 1}
    found = await alice.query(query="walrus", limit=5)
    assert [each.get("warning") for each in found["results"]] == [None, "evidence gone: db/pool.py#shut"]
