"""Facts of the calling user: read one, list, delete softly (L11)."""

from __future__ import annotations

from dataclasses import dataclass

from memory.domain.errors import fact_not_found
from memory.domain.fact import Fact, FactFilter, FactStatus
from memory.repository import facts
from memory.usecase.ingest import delete_evidence
from mesh.db.idempotency import Idempotency
from mesh.db.pool import Database
from mesh.db.transaction import Tx
from mesh.kernel import keyset
from mesh.kernel.identity import Call
from mesh.kernel.keyset import Position
from mesh.kernel.pages import Page, page_size


@dataclass(frozen=True, slots=True)
class DeletedFact:
    """A fact after its deletion, and how many chunks went with it."""

    fact: Fact
    chunks_deleted: int = 0


@dataclass(frozen=True, slots=True)
class Deletion:
    """What to delete.

    Args:
        fact_id: UUID.
        etag: the version that the caller read; empty deletes whatever is there.
        with_evidence: also the chunks of the turn that the fact was learned from.
    """

    fact_id: str
    etag: str = ""
    with_evidence: bool = False


class Facts:
    """The facts of the calling user. Another user's fact does not exist here."""

    def __init__(self, db: Database, idempotency: Idempotency) -> None:
        self._db = db
        self._idempotency = idempotency

    async def get(self, call: Call, fact_id: str) -> Fact:
        """Return a fact, whatever its status.

        Raises:
            NotFound: there is none (FACT_NOT_FOUND).
        """
        async with self._db.transaction(call.tenant_id) as tx:
            return _existing(await facts.get_fact(tx, call.user_id, fact_id), fact_id)

    async def list(self, call: Call, which: FactFilter, size: int, token: str) -> Page[Fact]:
        """Return a page of facts, newest `last_seen_at` first.

        Args:
            call: who asks.
            which: the filter; no status means the active ones.
            size: most facts, 0 for the default.
            token: token of the page before, empty for the first.
        """
        statuses = tuple(sorted(which.statuses)) or (FactStatus.ACTIVE,)
        wanted = FactFilter(statuses, which.avatar_id, which.key, which.turn_id)
        bound_to = ("facts", call.tenant_id, call.user_id, *statuses, wanted.avatar_id, wanted.key, wanted.turn_id)
        after = keyset.from_token(token, *bound_to)
        most = page_size(size)
        async with self._db.transaction(call.tenant_id) as tx:
            found = await facts.list_facts(tx, call.user_id, wanted, after, most + 1)
        if len(found) <= most:
            return Page(found)
        last = found[most - 1]
        return Page(found[:most], keyset.to_token(Position(last.last_seen_at, last.id), *bound_to))

    async def delete(self, call: Call, deletion: Deletion) -> DeletedFact:
        """Delete a fact softly; what is deleted already is answered as it is.

        Raises:
            NotFound: there is no such fact (FACT_NOT_FOUND).
            Aborted: it changed since (ETAG_MISMATCH).
        """

        async def once(tx: Tx) -> DeletedFact:
            async def work() -> DeletedFact:
                return await _delete(tx, call.user_id, deletion)

            return await self._idempotency.once(tx, call, DeletedFact, work)

        return await self._db.run(call.tenant_id, once)


async def _delete(tx: Tx, user_id: str, deletion: Deletion) -> DeletedFact:
    await facts.lock_user(tx, user_id)
    fact = _existing(await facts.get_fact(tx, user_id, deletion.fact_id), deletion.fact_id)
    if fact.status is not FactStatus.DELETED:
        fact.require_etag(deletion.etag)
        fact = await facts.delete_fact(tx, user_id, fact.id) or fact
    if not deletion.with_evidence or fact.source_turn_id is None:
        return DeletedFact(fact)
    return DeletedFact(fact, await delete_evidence(tx, user_id, fact.source_turn_id))


def _existing(fact: Fact | None, fact_id: str) -> Fact:
    if fact is None:
        raise fact_not_found(fact_id)
    return fact
