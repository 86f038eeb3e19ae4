"""Transactions that outlive a short absence of the database."""

from __future__ import annotations

from typing import Any, cast

import pytest

from engine.domain.errors import LeaseLost
from engine.usecase import persist as persisting
from engine.usecase.persist import persist
from mesh.db.pool import Database
from mesh.kernel.errors import Aborted, DeadlineExceeded, Internal, MeshError, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason


class ScriptedDatabase:
    """Raises what it was given, one error a run, and then runs the work."""

    def __init__(self, *errors: MeshError) -> None:
        self.errors = list(errors)
        self.runs = 0

    async def run(self, tenant_id: str, work: Any) -> Any:
        self.runs += 1
        if self.errors:
            raise self.errors.pop(0)
        return await work(tenant_id)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persisting, "FIRST_PAUSE_S", 0.001)


async def work(tenant_id: Any) -> str:
    return f"done for {tenant_id}"


async def test_what_passes_is_waited_for() -> None:
    db = ScriptedDatabase(
        Unavailable(Reason.DATABASE_UNAVAILABLE, "away"),
        ResourceExhausted(Reason.POOL_EXHAUSTED, "full"),
        DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "slow"),
        Aborted(Reason.CONFLICT, "deadlock"),
    )

    assert await persist(cast("Database", db), "acme", work, 5.0) == "done for acme"
    assert db.runs == 5


@pytest.mark.parametrize("error", [LeaseLost("t"), Internal(Reason.DB_ERROR, "refused")], ids=["lease lost", "refused"])
async def test_what_does_not_pass_is_raised_at_once(error: MeshError) -> None:
    db = ScriptedDatabase(error)

    with pytest.raises(type(error)):
        await persist(cast("Database", db), "acme", work, 5.0)
    assert db.runs == 1


async def test_the_wait_has_a_bound() -> None:
    db = ScriptedDatabase(*[Unavailable(Reason.DATABASE_UNAVAILABLE, "away")] * 1000)

    with pytest.raises(Unavailable):
        await persist(cast("Database", db), "acme", work, 0.02)
    assert 1 < db.runs < 30
