"""Check the audit log of a project against its chain of seals, and name every row that was changed, removed or added.

The operations are for `commonplace audit verify`, which asks for page after page.
"""

from typing import Annotated

from pydantic import Field

from commonplace import access
from commonplace.access import ALL_PROJECTS
from commonplace.arguments import MAX_INTEGER
from commonplace.call import Call
from commonplace.clock import LATE_COMMIT_MICROSECONDS, MINUTE, iso_exact
from commonplace.operation import Reply, operation
from commonplace.rooms.admin import audit_chain
from commonplace.rooms.admin.audit_chain import AuditSeal, ChainEnd, RowKey
from commonplace.store.database import Row, Tx

SealNumber = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
SealHash = Annotated[
    str,
    Field(
        max_length=64,
        pattern="^[0-9a-f]{64}$",
        description="The hash that `known_seal` had when `commonplace audit heads` printed it.",
    ),
]
_SEALS_OF_PAGE = 20
_MAX_PROBLEMS = 100
# A row that is this young may simply not be sealed yet.
_YOUNG_MICROSECONDS = LATE_COMMIT_MICROSECONDS + 4 * MINUTE


class AuditChain(Reply):
    project: str
    seal: int
    hash: str


class AuditChains(Reply):
    chains: list[AuditChain]


class AuditVerification(Reply):
    """`problems` names rows and seals; `redacted` the rows whose detail was replaced on purpose."""

    project: str
    seals: int
    rows: int
    problems: list[str]
    redacted: list[str]
    unsealed: int = 0
    next_after: int | None = None


@operation("memory_list_audit_chains", role="admin", session=False, example={})
async def list_audit_chains(call: Call) -> AuditChains:
    """List the newest seal of every project; keep the list elsewhere and pass it to `commonplace audit verify`."""
    chains = []
    for project in await audit_chain.list_sealed_projects(call.tx):
        if ALL_PROJECTS in call.caller.projects or call.caller.sees_project(project):
            end = await audit_chain.load_chain_end(call.tx, project)
            chains.append(AuditChain(project=project, seal=end.n, hash=end.hash))
    return AuditChains(chains=chains)


@operation("memory_verify_audit", role="admin", session=False, example={"name": "shop"})
async def verify_audit(
    call: Call,
    name: Annotated[
        str,
        Field(
            max_length=access.MAX_SPELLING_CHARACTERS, description="The project whose audit log is verified."
        ),
    ],
    after: Annotated[
        SealNumber, Field(description="Continue after this seal: `next_after` of the previous reply.")
    ] = 0,
    known_seal: Annotated[
        SealNumber | None, Field(description="The number of a seal that was kept elsewhere.")
    ] = None,
    known_hash: SealHash | None = None,
) -> AuditVerification:
    """Verify a page of the audit log of a project against its seals; `known_seal` must still have `known_hash`."""
    access.require_project(call.caller, name, writes=False)
    verifier = PageVerifier(call.tx, name, call.now)
    if known_seal is not None:
        await verifier.require_known_seal(known_seal, known_hash or "")
    return await verifier.verify_page(after)


class PageVerifier:
    def __init__(self, tx: Tx, project: str, now: int) -> None:
        self._tx, self._project, self._now = tx, project, now
        self._problems: list[str] = []

    async def require_known_seal(self, n: int, known_hash: str) -> None:
        """A seal that the operator noted elsewhere must be there, unless it was removed with a checkpoint."""
        seal = await audit_chain.load_seal(self._tx, self._project, n)
        checkpoint = await audit_chain.find_newest_checkpoint(self._tx, self._project)
        if seal is None and (checkpoint is None or checkpoint.removed()[0] < n):
            self._problems.append(f"Seal {n}, which is known, is missing: the end of the log was removed.")
        elif seal is not None and seal.hash != known_hash:
            self._problems.append(f"Seal {n} is not the one that is known: the chain was replaced.")

    async def verify_page(self, after: int) -> AuditVerification:
        tx, project = self._tx, self._project
        before = await self._find_start(after)
        seals = await audit_chain.list_seals(tx, project, before.n, _SEALS_OF_PAGE)
        self._problems += audit_chain.find_broken_seals(seals, before)
        is_last = len(seals) < _SEALS_OF_PAGE
        since = await self._find_times_before(before.n)
        until = max([since, *(seal.last_at for seal in seals if seal.kind == "rows")])
        stored = {
            (row["at"], row["id"]): row
            for row in await audit_chain.list_audit_rows_between(tx, project, since, until)
        }
        redactions = [(seal.n, seal.digests()) for seal in await audit_chain.list_redactions(tx, project)]
        redacted = await self._check_listed_rows(seals, stored, redactions)
        await self._check_unlisted_rows(stored, since, until)
        return AuditVerification(
            project=project,
            seals=len(seals),
            rows=sum(len(seal.digests()) for seal in seals if seal.kind == "rows"),
            problems=self._problems[:_MAX_PROBLEMS],
            redacted=redacted,
            unsealed=await audit_chain.count_audit_rows_after(tx, project, until) if is_last else 0,
            next_after=None if is_last else seals[-1].n,
        )

    async def _find_start(self, after: int) -> ChainEnd:
        """The seal that the page continues; of the first page, what the newest checkpoint says was removed."""
        if after:
            seal = await audit_chain.load_seal(self._tx, self._project, after)
            return ChainEnd(after, seal.hash if seal else "")
        checkpoint = await audit_chain.find_newest_checkpoint(self._tx, self._project)
        return ChainEnd(*checkpoint.removed()) if checkpoint else ChainEnd()

    async def _find_times_before(self, n: int) -> int:
        """The newest time that a seal up to this number lists: rows up to then were on earlier pages."""
        return await audit_chain.load_last_time_up_to(self._tx, self._project, n)

    async def _check_listed_rows(
        self,
        seals: list[AuditSeal],
        stored: dict[RowKey, Row],
        redactions: list[tuple[int, dict[RowKey, str]]],
    ) -> list[str]:
        """Compare every row that the seals list with its digest; return the names of redacted rows."""
        redacted = []
        for seal in seals:
            if seal.kind != "rows":
                continue
            digests = seal.digests()
            late = await audit_chain.load_audit_rows(
                self._tx, self._project, [key for key in digests if key not in stored]
            )
            rows = stored | {(row["at"], row["id"]): row for row in late}
            for key, digest in digests.items():
                newer = [
                    digests_then[key] for n, digests_then in redactions if n > seal.n and key in digests_then
                ]
                expected = newer[-1] if newer else digest
                if key not in rows:
                    self._problems.append(f"The row {_name_row(key)} of seal {seal.n} was removed.")
                elif audit_chain.digest_row(rows[key]) != expected:
                    self._problems.append(f"The row {_name_row(key)} of seal {seal.n} was changed.")
                elif newer:
                    redacted.append(_name_row(key))
        return redacted

    async def _check_unlisted_rows(self, stored: dict[RowKey, Row], since: int, until: int) -> None:
        """A row that is young, or of a time that is noted, may simply not be sealed yet."""
        lowest = audit_chain.find_lowest_noted(await audit_chain.list_late_notes(self._tx))
        sealed_before = min(self._now - _YOUNG_MICROSECONDS, lowest - LATE_COMMIT_MICROSECONDS)
        listed: set[RowKey] = set()
        for seal in await audit_chain.list_seals_of_times(self._tx, self._project, since, until):
            listed.update(seal.digests())
        for key in stored:
            if key not in listed and key[0] < sealed_before:
                self._problems.append(f"The row {_name_row(key)} was added later: no seal lists it.")


def _name_row(key: RowKey) -> str:
    return f"{iso_exact(key[0])} {key[1]}"
