"""Which part of a thread's past goes before the model.

Only committed turns count, oldest first in the order of their commits; that order only ever grows at its end, so the
prompt's prefix stays the same bytes from turn to turn (G20). When the past outgrows its budget its start is cut off in
large steps: the cut stands still for many turns, and a provider's prompt cache is missed once a step, not every turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STEPS_PER_BUDGET = 4
"""The start of the history moves by a quarter of the budget at a time, so at least three quarters of it are used."""


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """A committed turn as the model is shown it."""

    user_text: str
    assistant_text: str


@dataclass(frozen=True, slots=True)
class History:
    """The past of a thread for one prompt.

    Args:
        strategy: how it was chosen.
        cut_chars: characters of committed turns before its first turn; 0 when nothing was left out.
        turns: oldest first.
    """

    strategy: str
    cut_chars: int
    turns: Sequence[HistoryTurn]


def history_cut(total_chars: int, budget_chars: int) -> int:
    """Return where the history starts, in characters from the start of the thread's committed turns.

    Args:
        total_chars: characters of all committed turns, at least 0.
        budget_chars: most characters of a history, at least 1.

    Returns:
        0 while everything fits; else a multiple of the step, so that at most `budget_chars` follow it. Turns that begin
        before it are left out.
    """
    over = total_chars - budget_chars
    if over <= 0:
        return 0
    step = max(1, budget_chars // STEPS_PER_BUDGET)
    return -(-over // step) * step
