"""Who asks for a file gets what is known of that file first."""


async def test_query_for_a_path_shows_the_note_about_that_file_first(team):
    alice = await team.agent("alice")
    for n in range(5):
        await alice.record_learning(
            topic=f"Orders and signals {n}",
            content=f"Signals of orders are sent in orders and in signals, case {n}: orders, signals, orders.",
        )
    note = await alice.record_learning(
        topic="Receivers run twice",
        content="Connect them with a dispatch_uid.",
        files_related=["shop/orders/signals.py"],
    )
    for question in ("orders/signals.py", "what is known about shop/orders/signals.py?"):
        found = await alice.query(query=question)
        assert found["results"][0]["id"] == note["id"]
