"""How much of a call's time may be spent on vectors."""

from __future__ import annotations

from mesh.rpc.context import remaining_s

WRITE_RESERVE_S = 1.0
WRITE_SHARE = 0.7
MAX_WAIT_S = 300.0


def vector_budget_s() -> float:
    """Return the seconds that a writing call may wait for vectors; what is not ready then is made by the worker."""
    left = min(remaining_s(), MAX_WAIT_S)
    return max(left * WRITE_SHARE - WRITE_RESERVE_S, left * 0.2)


def read_budget_s() -> float:
    """Return the seconds that a reading call has."""
    return min(remaining_s(), MAX_WAIT_S)
