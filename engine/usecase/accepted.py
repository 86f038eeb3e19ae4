"""A turn that was accepted: its message is stored and this process holds the lease."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from engine.domain.thread import ThreadKey
from engine.domain.turn import Attempt, Message, Model


@dataclass(frozen=True, slots=True)
class Accepted:
    """What running a turn needs to know.

    Args:
        epoch: the thread's epoch of this attempt.
        user_seq: sequence of the message in the log.
        accept_time: when the message was first recorded, UTC.
        history_chars: characters of all turns committed before.
    """

    key: ThreadKey
    attempt: Attempt
    message: Message
    model: Model
    epoch: int
    user_seq: int
    accept_time: datetime
    history_chars: int

    @property
    def turn_id(self) -> str:
        """The turn's UUID."""
        return self.attempt.turn_id
