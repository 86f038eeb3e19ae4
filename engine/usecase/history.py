"""Strategies: which part of a thread's past goes into the prompt (SEEDS F4)."""

from __future__ import annotations

from typing import Protocol

from engine.domain.history import History, history_cut
from engine.domain.thread import ThreadKey
from engine.repository import turns
from mesh.db.transaction import Tx


class Strategy(Protocol):
    """One way to choose."""

    @property
    def name(self) -> str:
        """The name that is stored with a turn."""
        ...

    def holds_everything(self, history_chars: int) -> bool:
        """Tell whether nothing of a past of so many characters will be left out."""
        ...

    async def read(self, tx: Tx, key: ThreadKey, history_chars: int) -> History:
        """Return the part to show of a past of so many characters, all committed turns together."""
        ...


class FullReplay:
    """Every committed turn, up to a budget counted back from the newest."""

    name = "full_replay"

    def __init__(self, budget_chars: int) -> None:
        self._budget_chars = budget_chars

    def holds_everything(self, history_chars: int) -> bool:
        return history_cut(history_chars, self._budget_chars) == 0

    async def read(self, tx: Tx, key: ThreadKey, history_chars: int) -> History:
        cut_chars = history_cut(history_chars, self._budget_chars)
        return History(self.name, cut_chars, await turns.history(tx, key, cut_chars))
