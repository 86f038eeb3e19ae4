"""Token usage: one row for each attempt at a provider, written in the transaction that ends the turn (G18)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.thread import ThreadKey
from engine.domain.turn import Attempt, Model
from engine.domain.usage import Phase, ProviderAttempt
from mesh.db.queries import load
from mesh.db.transaction import Tx

_INSERT = load(__name__, "usage.sql").get("insert_usage")


@dataclass(frozen=True, slots=True)
class Account:
    """Whom an attempt is charged to.

    Args:
        request_id: the caller's request id, or None.
    """

    attempt: Attempt
    avatar_id: str
    request_id: str | None
    model: Model


async def insert(tx: Tx, key: ThreadKey, account: Account, spent: ProviderAttempt) -> None:
    """Store what one attempt cost; an attempt that was accounted for before keeps its first row."""
    params = {
        "tenant_id": key.tenant_id,
        "thread_id": key.thread_id,
        "session_id": key.session_id,
        "user_id": key.user_id,
        "turn_id": account.attempt.turn_id,
        "turn_attempt": account.attempt.number,
        "provider_attempt": spent.number,
        "avatar_id": account.avatar_id,
        "request_id": account.request_id,
        "phase": Phase.GENERATE.value,
        "provider": account.model.provider,
        "model": account.model.name,
        "input_tokens": spent.tokens.input_tokens,
        "output_tokens": spent.tokens.output_tokens,
        "cached_input_tokens": spent.tokens.cached_input_tokens,
        "measured": spent.tokens.measured,
        "outcome": spent.outcome.value,
    }
    await tx.execute(_INSERT, params)
