"""Threads: the log of one session, its position and the lease of its running turn.

A thread's id is `{tenant}:{session}`. Source: SEEDS F2, spec-felix 1.5; neither part can hold `:` or `#`, so the id can
be taken apart again and two tenants never share one.
"""

from __future__ import annotations

from dataclasses import dataclass

from mesh.kernel.errors import Internal
from mesh.kernel.identity import is_tenant_id
from mesh.kernel.reasons import Reason

SEPARATOR = ":"

_FORBIDDEN = frozenset(":#")


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """Whose thread it is; every query on a thread carries all three.

    Args:
        tenant_id: the caller's tenant.
        user_id: the caller, a UUID.
        session_id: the session, a UUID.
    """

    tenant_id: str
    user_id: str
    session_id: str

    @property
    def thread_id(self) -> str:
        """The stored id, `{tenant}:{session}`."""
        return compose_thread_id(self.tenant_id, self.session_id)


@dataclass(frozen=True, slots=True)
class ThreadState:
    """The row of a thread, as it is while the transaction holds its lock.

    Args:
        next_seq: sequence of the next event; dense, from 0.
        leaf_event_id: the newest event, on which the next one is parented; None in an empty thread.
        epoch: counts how often the thread's stream was started anew, from 1.
        history_chars: characters of all committed turns, messages and answers.
        running_turn_id: the turn that holds the lease; None when no turn runs.
        running_attempt: which attempt of it; 0 when no turn runs.
        lease_holder: the process that runs it; empty when no turn runs.
        lease_ended: True when the lease is over by the database's clock.
    """

    next_seq: int
    leaf_event_id: str | None
    epoch: int
    history_chars: int
    running_turn_id: str | None
    running_attempt: int
    lease_holder: str
    lease_ended: bool


def compose_thread_id(tenant_id: str, suffix: str) -> str:
    """Return the id of a tenant's thread.

    Raises:
        Internal: a part is empty or holds a separator; callers' input was checked long before.
    """
    if not is_tenant_id(tenant_id) or not suffix or _FORBIDDEN.intersection(suffix):
        raise Internal(Reason.INTERNAL, "A thread id cannot be composed of these parts.")
    return f"{tenant_id}{SEPARATOR}{suffix}"
