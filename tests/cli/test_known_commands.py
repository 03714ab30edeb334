"""`commonplace how` and `commonplace fix` print what sessions have shown."""

import argparse
from typing import Any

from commonplace.client.people import known_commands


def test_how_and_fix_ask_for_their_kind_and_print_what_was_found(capsys):
    asked: list[tuple[str, dict[str, Any]]] = []

    def call(name: str, values: Any) -> dict[str, Any]:
        asked.append((name, dict(values)))
        return {"results": [{"content": "make test\nworked 4 of 5 times", "age": "2h", "author": "ann"}]}

    flags = argparse.Namespace(words=["run", "tests"], project="shop", all=False, json=False)
    assert known_commands.print_how(flags, call) == 0
    assert known_commands.print_fixes(flags, call) == 0
    assert [(name, values["query"], values["memory_types"]) for name, values in asked] == [
        ("memory_query", "run tests", ["how"]),
        ("memory_query", "run tests", ["fix"]),
    ]
    assert "worked 4 of 5 times" in capsys.readouterr().out
