"""The slow network of the nemesis delays bytes and never changes their order, as TCP promises."""

from bench.postgres_relay import PostgresRelay, RelayedSide

from patience import wait_until_async


async def test_bytes_stay_in_order_when_the_network_becomes_fast_again():
    relay = PostgresRelay("postgresql:///shop")
    side, peer = RelayedSide(relay), RelayedSide(relay)
    side.peer = peer
    sent = [b"%d" % number for number in range(20)]
    for number, data in enumerate(sent):
        relay.round_trip_seconds = max(0.0, 0.1 - number / 100)
        side.data_received(data)
    await wait_until_async(lambda: len(peer.waiting) == len(sent))
    assert peer.waiting == sent
