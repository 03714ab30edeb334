"""Sessions of programs that are only archived, Qwen Code and Goose, arrive at the server, and only once."""

from pathlib import Path

from agent_samples.goose_sessions import CREATED, SESSION, SessionDatabase, text_block
from machine import Machine, archived, config

import product

RECORDED = Path(__file__).parents[2] / "transcripts" / "recorded" / "qwen.jsonl"
QWEN = "e37e0659-3a9c-4378-b28c-a2e876b706e5"


def test_sessions_of_qwen_and_goose_are_sent_once_and_then_what_is_new(
    server: product.Product, machine: Machine
):
    config(machine, "")
    shop = machine.repository("shop")
    recorded = RECORDED.read_bytes().replace(b"/home/ann/shop", str(shop).encode())
    machine.write(f".qwen/projects/-home-ann-shop/chats/{QWEN}.jsonl", raw=recorded)
    database = SessionDatabase(machine.home / ".local/share/goose/sessions/sessions.db", str(shop))
    first = machine.sync()
    assert (first.code, first.err, first.out.startswith("3 transcripts sent")) == (0, "", True)
    assert archived(server, "lap-qwen-code-shop", QWEN) == recorded
    export = machine.state / "transcripts/goose" / f"{SESSION}.jsonl"
    assert archived(server, "lap-goose-shop", SESSION) == export.read_bytes()
    assert machine.sync().out.startswith("0 transcripts sent")
    database.compact(SESSION, "The cart is rounded.", CREATED + 60)
    database.add_message(SESSION, "user", [text_block("And the tax?")], CREATED + 61)
    database.close()
    assert machine.sync().out.startswith("1 transcript sent")
    assert archived(server, "lap-goose-shop", SESSION).count(b"Round the cart total") == 1
    assert b"And the tax?" in archived(server, "lap-goose-shop", SESSION)
