"""Who works on a task, or filed it, is told what somebody else changed in it."""

import pytest

from commonplace import errors


async def test_the_assignee_and_who_filed_it_are_told_what_changed_in_an_item(team):
    nora, finn, iris = [await team.agent(name) for name in ("nora", "finn", "iris")]
    item = (await nora.add_backlog_item(title="Invoice", description="With VAT.", assigned_to="finn"))["id"]
    await finn.heartbeat()
    changed = await iris.update_backlog_item(
        item_id=item, priority="high", description="With VAT. Also test 2 nights."
    )
    change = 'priority medium -> high, description + "Also test 2 nights."'
    assert changed["notified"] == ["finn", "nora"]
    assert (await finn.heartbeat())["_notice"] == [f"iris changed {item} (Invoice), which is yours: {change}"]
    assert (await nora.heartbeat())["_notice"] == [
        f"iris changed {item} (Invoice), which you filed: {change}"
    ]
    assert "_notice" not in await iris.heartbeat()


async def test_the_assignee_is_told_of_another_status_and_of_new_dependencies(team):
    nora, finn = await team.agent("nora"), await team.agent("finn")
    item = (await nora.add_backlog_item(title="Invoice", assigned_to="finn"))["id"]
    first = (await nora.add_backlog_item(title="Prices"))["id"]
    await finn.update_backlog_item(item_id=item, claim=True)
    await nora.update_backlog_item(
        item_id=item, status="blocked", deferred_reason="prices change", depends_on=[first]
    )
    change = f'status in_progress -> blocked, deferred_reason none -> "prices change", depends_on +{first}'
    assert (await finn.heartbeat())["_notice"] == [f"nora changed {item} (Invoice), which is yours: {change}"]
    await nora.update_backlog_item(item_id=item, title="Bill", description="New text.", depends_on=[])
    change = f'title was "Invoice", description (memory_get_by_id), depends_on -{first}'
    assert (await finn.heartbeat())["_notice"] == [f"nora changed {item} (Bill), which is yours: {change}"]


async def test_own_changes_and_those_of_free_items_tell_nobody(team):
    finn, iris = await team.agent("finn"), await team.agent("iris")
    item = (await finn.add_backlog_item(title="Invoice", assigned_to="finn"))["id"]
    assert "notified" not in await finn.update_backlog_item(item_id=item, priority="low")
    free = (await iris.add_backlog_item(title="Free"))["id"]
    assert "notified" not in await iris.update_backlog_item(item_id=free, priority="low")


async def test_a_note_is_added_to_the_description_with_its_author(team):
    finn, iris = await team.agent("finn"), await team.agent("iris")
    item = (await finn.add_backlog_item(title="Invoice", description="With VAT.", assigned_to="finn"))["id"]
    noted = await iris.update_backlog_item(item_id=item, note="Also test 2 nights.")
    assert "description" not in noted
    line = "Note (iris): Also test 2 nights."
    read = await finn.get_by_id(doc_id=item)
    assert read["content"] == f"With VAT.\n\n{line}"
    assert read["_notice"] == [f'iris changed {item} (Invoice), which is yours: description + "{line}"']
    batch = [{"item_id": item, "note": "Done by Friday?"}]
    await iris.batch_backlog(action="update", items=batch)
    assert (await finn.get_by_id(doc_id=item))["content"].endswith("\n\nNote (iris): Done by Friday?")


async def test_a_note_that_makes_a_description_too_long_is_refused(team):
    finn = await team.agent("finn")
    item = (await finn.add_backlog_item(title="Invoice", description="x" * 19_990))["id"]
    with pytest.raises(errors.TooLarge):
        await finn.update_backlog_item(item_id=item, note="One more thing.")
    assert (await finn.get_by_id(doc_id=item))["content"] == "x" * 19_990


async def test_who_commented_on_an_item_is_told_that_it_is_closed(team):
    nora, finn, iris = [await team.agent(name) for name in ("nora", "finn", "iris")]
    item = (await nora.add_backlog_item(title="Invoice", assigned_to="finn"))["id"]
    await iris.update_backlog_item(item_id=item, note="The release waits for this.")
    closed = await finn.complete_backlog_item(item_id=item, resolution="printed")
    assert closed["notified"] == ["iris", "nora"]
    assert (await iris.heartbeat())["_notice"] == [
        f'finn closed {item} (Invoice) as done: "printed". You changed it before.'
    ]
