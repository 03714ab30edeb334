"""A document that cites a replaced one: its author is told, and its readers are warned."""


async def _store_decision(agent, title: str, content: str, **arguments) -> dict:
    return await agent.store(title=title, content=content, memory_type="adr", **arguments)


async def _cite_and_replace(team):
    iris, nora = await team.agent("iris"), await team.agent("nora")
    old = (await _store_decision(iris, "Rounding", "Round half-up at the end only."))["id"]
    cents = (await _store_decision(nora, "Money is cents", f"Cents, rounded as in {old}."))["id"]
    await nora.heartbeat()
    new = await _store_decision(iris, "Rounding per line", "Round every line of an invoice.", supersedes=old)
    return iris, nora, old, cents, new


async def test_the_author_of_a_document_is_told_that_what_it_cites_was_replaced(team):
    _, nora, old, cents, new = await _cite_and_replace(team)
    assert (new["superseded"], new["cited_by"]) == (old, [cents])
    assert (
        f"iris replaced {old} with {new['id']}: check {cents} of yours, which cites it."
        in (await nora.heartbeat())["_notice"]
    )


async def test_readers_are_warned_until_the_text_names_the_new_document(team):
    iris, nora, old, cents, new = await _cite_and_replace(team)
    warning = f"cites {old}, which {new['id']} replaced"
    assert (await iris.get_by_id(doc_id=cents))["warning"] == warning
    (found,) = [
        result for result in (await iris.query(query="money is cents"))["results"] if result["id"] == cents
    ]
    assert found["warning"] == warning
    await _store_decision(
        nora, "Money is cents", f"Cents, rounded as in {new['id']}, not {old}.", force_store=True
    )
    assert "warning" not in await iris.get_by_id(doc_id=cents)


async def test_a_change_of_status_names_the_citing_documents_too(team):
    iris, nora = await team.agent("iris"), await team.agent("nora")
    old, new = [
        (await _store_decision(iris, word, f"{word} is how we round."))["id"] for word in ("Old", "New")
    ]
    cents = (await _store_decision(nora, "Money is cents", f"Cents, see {old}."))["id"]
    changed = await iris.change_status(doc_id=old, new_status="superseded", superseded_by=new)
    assert changed["cited_by"] == [cents]
    own = await nora.change_status(doc_id=cents, new_status="deprecated")
    assert "cited_by" not in own


async def test_the_owner_of_a_spec_is_told_and_its_readers_are_warned(team):
    iris, nora = await team.agent("iris"), await team.agent("nora")
    old = (await _store_decision(iris, "Lifetime", "Links live 30 days."))["id"]
    spec = (await nora.define_spec(name="link", content=f"expires_at: 30 days after save ({old})"))["id"]
    await nora.heartbeat()
    new = await _store_decision(iris, "Lifetime now", "Links live 90 days.", supersedes=old)
    assert new["cited_by"] == [spec]
    assert (
        f"iris replaced {old} with {new['id']}: check spec link of yours, which cites it."
        in (await nora.heartbeat())["_notice"]
    )
    warning = f"cites {old}, which {new['id']} replaced"
    assert (await iris.get_spec(name="link"))["warning"] == warning
    (found,) = (await iris.query(query="spec link", memory_types=["spec"]))["results"]
    assert found["warning"] == warning
    await nora.define_spec(name="link", content=f"expires_at: 90 days after save ({new['id']})")
    assert "warning" not in await iris.get_spec(name="link")


async def test_a_new_text_may_supersede_the_document_that_the_session_was_shown(team):
    iris, nora, _, cents, new = await _cite_and_replace(team)
    await nora.get_by_id(doc_id=cents)
    text = f"Cents, rounded as in {new['id']}."
    stored = await _store_decision(nora, "Money is cents", text, supersedes=cents)
    assert stored["superseded"] == cents
    same = await _store_decision(
        nora, "Money is cents", f"{text} Always.", supersedes=stored["id"], force_store=True
    )
    assert (same["id"], same["version"]) == (stored["id"], 2)
    assert f"which replaces {same['id']}" not in "".join((await iris.heartbeat())["_notice"])
