"""What memory is to learn from a committed turn, as it waits in the outbox.

It holds everything that memory needs, so that delivering it reads nothing else. Unknown fields of a newer writer are
ignored and missing ones have defaults, so that old and new workers can run side by side.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from datetime import datetime

from mesh.kernel.errors import InvalidArgument
from mesh.kernel.reasons import Reason

TOPIC = "learn_turn"


@dataclass(frozen=True, slots=True)
class Lesson:
    """A committed turn for memory.

    Args:
        assistant_grounded: True when the answer only repeats recalled text; then it is no evidence of its own (G5).
        turn_time: when the message was accepted, ISO 8601 with its offset.
        time_zone: the user's IANA zone, or empty for UTC.
    """

    user_id: str
    session_id: str
    turn_id: str
    user_seq: int
    assistant_seq: int
    avatar_id: str
    avatar_name: str
    user_text: str
    assistant_text: str
    assistant_grounded: bool
    turn_time: str
    time_zone: str = ""

    def encode(self) -> bytes:
        """Return the lesson as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @property
    def accepted_at(self) -> datetime:
        """When the message was accepted, UTC-aware."""
        return datetime.fromisoformat(self.turn_time)


def decode_lesson(payload: bytes) -> Lesson:
    """Return the lesson of an outbox payload.

    Raises:
        InvalidArgument: the payload is none; delivering it again cannot help (MALFORMED_MESSAGE).
    """
    names = {field.name for field in fields(Lesson)}
    try:
        raw = json.loads(payload)
        lesson = Lesson(**{name: value for name, value in raw.items() if name in names})
        datetime.fromisoformat(lesson.turn_time)
    except (ValueError, TypeError, AttributeError) as exc:
        raise InvalidArgument(Reason.MALFORMED_MESSAGE, "The payload is not a lesson.") from exc
    return lesson
