"""One committed turn of a conversation, as memory learns from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.domain.chunk import Direction, Message

USER_SPEAKER = "user"


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn to learn from; lengths were checked at the contract.

    Args:
        session_id: UUID of the session; its chunks are neighbours.
        turn_id: UUID of the turn.
        user_seq: sequence of the user's event; the turn is known by session and this.
        assistant_seq: sequence of the assistant's event.
        avatar_id: uid of the avatar.
        avatar_name: the name by which chunks cite it; may be empty.
        user_text: what the user said.
        assistant_text: what the assistant answered; may be empty.
        assistant_grounded: the answer only repeats recalled text, and is not stored again (G5).
        at: when the user's message was accepted, UTC.
        zone: the user's IANA zone; empty means UTC.
    """

    session_id: str
    turn_id: str
    user_seq: int
    assistant_seq: int
    avatar_id: str
    avatar_name: str
    user_text: str
    assistant_text: str
    assistant_grounded: bool
    at: datetime
    zone: str = "UTC"

    def messages(self) -> list[Message]:
        """Return what is stored as evidence: the user's words, and the answer when it says something of its own."""
        said = [self._message(self.user_seq, USER_SPEAKER, self.user_text, Direction.INCOMING)]
        if self.assistant_text.strip() and not self.assistant_grounded:
            answer = self._message(self.assistant_seq, self.avatar_name, self.assistant_text, Direction.OUTGOING)
            said.append(answer)
        return said

    def _message(self, seq: int, speaker: str, text: str, direction: Direction) -> Message:
        return Message(
            source_id=f"{self.session_id}:{seq}",
            speaker=speaker,
            text=text,
            sent_at=self.at,
            session=self.session_id,
            direction=direction,
            turn_id=self.turn_id,
        )
