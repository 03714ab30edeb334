"""commonplace verify against a checkout on disk."""

import subprocess
from pathlib import Path

import product
from patience import PATIENCE_SECONDS


def verify(path: Path, *flags: str) -> str:
    return subprocess.run(
        product.command("verify", str(path), "--project", "shop", *flags),
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True, env=product.environment(),
    ).stdout  # fmt: skip


def test_verify_tells_fresh_from_drifted_and_gone(address: Path | str, tmp_path: Path):
    flags = product.store_flags(address, tmp_path / "client")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "cart.py").write_text(
        "def total(items):\n    return sum(items)\n\n\ndef empty():\n    return []\n"
    )
    with product.running(*flags) as server:
        ann = server.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
        stored = server.call(
            "memory_store", session_id=ann, title="Totals", content="Totals are plain sums.",
            memory_type="architecture",
            files_related=["cart.py#total", "cart.py#empty", "cart.py", "cart.py:1", "../till.py"],
        )  # fmt: skip
        document = stored["id"]
        assert verify(checkout, *flags) == (
            f"unchecked: ../till.py ({document})\n4 fresh, 0 drifted, 0 gone, 1 unchecked\n"
        )
        (checkout / "cart.py").write_text("# Sums.\ndef total(items):\n    return sum(items) * 2\n")
        assert verify(checkout, *flags) == (
            f"unchecked: ../till.py ({document})\n"
            f"drifted: cart.py ({document})\n"
            f"gone: cart.py#empty ({document})\n"
            f"drifted: cart.py#total ({document})\n"
            f"fresh: cart.py:1, now at line 2 ({document})\n"
            "1 fresh, 2 drifted, 1 gone, 1 unchecked\n"
        )
        found = server.call("memory_query", session_id=ann, query="how are totals computed")["results"][0]
        shown = server.call("memory_get_by_id", session_id=ann, doc_id=document)
    assert found["warning"]
    states = {each["place"]: each["state"] for each in shown["links"]["cites"]}
    assert states == {
        "../till.py": "unchecked",
        "cart.py": "drifted",
        "cart.py#empty": "gone",
        "cart.py#total": "drifted",
        "cart.py:1": "fresh",
    }
