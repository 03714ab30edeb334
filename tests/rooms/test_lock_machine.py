"""Locks behave as the model says; and bugs that the machine must find."""

from dataclasses import replace

import pytest
from hypothesis import Phase
from lock_machine import World, run_machine
from lock_paths import B1, B2, B3, D1, FILES, L1, L2, S1, S2, S3, C

from commonplace import file_region
from commonplace.rooms.locks import granting, operations, paths, store, waiting
from commonplace.rooms.locks import model as leases
from commonplace.store import lease_clock


@pytest.fixture
def world(address):
    opened = World(address)
    yield opened
    opened.close()


@pytest.mark.parametrize(("address", "examples"), [("sqlite", 20), ("postgresql", 6)], indirect=["address"])
@pytest.mark.slow
def test_locks_behave_as_the_model(world, examples):
    run_machine(world, examples=examples)


# -- seeded bugs ----------------------------------------------------------------------------------------------


def _directory_ignored(patch):
    patch.setattr(paths, "patterns_overlap", lambda a, b: a.path == b.path)


def _token_reused(patch):
    patch.setattr(granting, "fencing_token", lambda epoch, counter: epoch << 40 | counter // 2)


def _dead_lease_renewed(patch):
    async def renew(tx, session, _held, now):
        return await tx.run(
            "update lease set expires_at = $3 + ttl where project = $1 and session = $2",
            session.project,
            session.id,
            now,
        )

    patch.setattr(store, "renew_leases", renew)


def _everybody_renewed(patch):
    async def renew(tx, session, _held, now):
        return await tx.run("update lease set expires_at = $2 + ttl where project = $1", session.project, now)

    patch.setattr(store, "renew_leases", renew)


def _no_fence(patch):
    async def require_nothing(*_arguments):
        pass

    patch.setattr(granting, "require_current_tokens", require_nothing)


def _delay_ignored(patch):
    patch.setattr(leases, "TAKEOVER_DELAY", 0)
    patch.setattr(store, "TAKEOVER_DELAY", 0)


def _shared_excludes_nobody(patch):
    conflicts_with = leases.LockRequest.conflicts_with
    patch.setattr(
        leases.LockRequest,
        "conflicts_with",
        lambda request, lease: lease.mode == "exclusive" and conflicts_with(request, lease),
    )


def _taken_over_lease_stays(patch):
    async def take_over_nothing(*_arguments):
        pass

    patch.setattr(operations, "take_over_leases", take_over_nothing)


def _directories_above_not_read(patch):
    patch.setattr(paths, "list_ancestor_prefixes", lambda prefix: [prefix])


def _files_below_not_read(patch):
    patch.setattr(paths, "_outermost_prefixes", lambda _prefixes: [])


def _lease_ends_early(patch):
    grant_lease = granting.grant_lease

    def grant_shorter_lease(*arguments):
        lease = grant_lease(*arguments)
        return replace(lease, expires_at=lease.expires_at - lease.ttl // 10)

    patch.setattr(granting, "grant_lease", grant_shorter_lease)


def _release_takes_others_along(patch):
    async def delete(tx, project, gone):
        await tx.run(
            "delete from lease where project = $1 and path = any($2)", project, [lease.path for lease in gone]
        )

    patch.setattr(store, "delete_leases", delete)


def _jumps_taken_over(patch):
    patch.setattr(lease_clock._Reading, "find_jump", lambda *_: 0)


def _touching_lines_ignored(patch):
    patch.setattr(
        file_region.LineSpan,
        "touches",
        lambda span, other, **_: span.start < other.end and other.start < span.end,
    )


def _versions_ignored(patch):
    regions_overlap = leases.regions_overlap

    def compare_numbers(a, b):
        if a and b and a.bases and b.bases:
            spans = (next(iter(region.spans_by_base.values())) for region in (a, b))
            a, b = (file_region.FileRegion({"": each}) for each in spans)
        return regions_overlap(a, b)

    patch.setattr(leases, "regions_overlap", compare_numbers)


def _unknown_lines_free(patch):
    regions_overlap = leases.regions_overlap
    patch.setattr(
        leases,
        "regions_overlap",
        lambda a, b: regions_overlap(a, b) and (not a or not b or bool(a.bases) == bool(b.bases)),
    )


def _class_without_methods(patch):
    patch.setattr(file_region, "_symbols_overlap", lambda a, b: a == b)


def _joined_region_forgotten(patch):
    patch.setattr(granting, "merge_regions", lambda _a, b: b)


def _region_gives_the_file(patch):
    patch.setattr(leases, "region_covers", lambda _a, _b: True)


def _turn_ignored(patch):
    patch.setattr(waiting, "list_turns", lambda *_: [])


def _turn_never_ends(patch):
    patch.setattr(waiting.Waiter, "has_turn", lambda waiter, _now: waiter.turn_until > 0)


def _last_waiter_first(patch):
    patch.setattr(waiting.Waiter, "place", property(lambda waiter: (-waiter.at, waiter.session)))


def _place_lost_by_asking_again(patch):
    insert_waiters = waiting.insert_waiters

    async def insert_anew(tx, session, decision, *arguments):
        paths_met = {request.path for request, _ in decision.conflicts}
        await waiting.delete_waiters(tx, session.project, session.id, sorted(paths_met))
        await insert_waiters(tx, session, decision, *arguments)

    patch.setattr(waiting, "insert_waiters", insert_anew)


def _nobody_told(patch):
    async def tell_nobody(tx, project, _now, asking=""):
        return await waiting.list_waiters(tx, project, await tx.clock(), False, asking), []

    patch.setattr(waiting, "tell_free_paths", tell_nobody)


# Each with the paths that show it, so that few examples are needed.
PATHS_THAT_SHOW = {
    _touching_lines_ignored: [B1, B2, B3],
    _versions_ignored: [B1, B2, D1],
    _unknown_lines_free: [L1, L2, B1, S1],
    _class_without_methods: [S1, S2, S3],
    _joined_region_forgotten: [B1, B2],
    _region_gives_the_file: [C, B1, L1],
    _jumps_taken_over: FILES[:1],
    _release_takes_others_along: FILES[:1],
    _turn_ignored: FILES[:2],
    _turn_never_ends: FILES[:2],
    _last_waiter_first: FILES[:1],
    _place_lost_by_asking_again: FILES[:1],
    _nobody_told: FILES[:1],
}
BUGS = [
    _no_fence,
    _token_reused,
    _directory_ignored,
    _touching_lines_ignored,
    _turn_ignored,
]
# The machine needs seconds for each of these: `make faults` has them.
RARE_BUGS = [
    *(bug for bug in PATHS_THAT_SHOW if bug not in BUGS),
    _everybody_renewed,
    _shared_excludes_nobody,
    _lease_ends_early,
    _dead_lease_renewed,
    _delay_ignored,
    _taken_over_lease_stays,
    _directories_above_not_read,
    _files_below_not_read,
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bug" in metafunc.fixturenames:
        bugs = BUGS + RARE_BUGS * bool(metafunc.config.getoption("--long"))
        metafunc.parametrize("bug", bugs, ids=lambda bug: bug.__name__.strip("_"))


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
@pytest.mark.slow
def test_machine_finds_the_bug(world, monkeypatch, bug):
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        run_machine(
            world,
            examples=100,
            paths=PATHS_THAT_SHOW.get(bug, FILES),
            derandomize=True,
            phases=[Phase.generate],
            report_multiple_bugs=False,
        )
