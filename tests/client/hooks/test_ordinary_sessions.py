"""A lone agent is never bothered: not one of a thousand ordinary lines is refused. A tenth of them in the short form."""

import pytest
from hooked import git
from ordinary_commands import list_ordinary_lines


async def test_no_ordinary_line_of_a_lone_session_is_refused(near, shop, request: pytest.FixtureRequest):
    alone = near("claude")
    await alone.start()
    await alone.write("src/cart.py", "changed\n")
    (shop / "scratch.txt").write_text("x\n")
    git(shop, "branch", "feature/cart")
    step = 1 if request.config.getoption("--long") else 20
    refused = [
        (line, answer.denial)
        for line, _ in list_ordinary_lines()[::step]
        if (answer := await alone.shell(line)).denial
    ]
    assert refused == []
