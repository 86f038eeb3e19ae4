"""What the use cases need of other servers; the adapters are in `gateway.clients`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gateway.domain.avatar import ChatPartner
from mesh.kernel.identity import Principal

E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """What a user says.

    Args:
        session_id: UUID of the session.
        text: 1 to 65,536 characters.
        request_id: the caller's UUID for retries, or empty.
        time_zone: IANA name, empty for UTC.
    """

    session_id: str
    text: str
    request_id: str
    time_zone: str


class Engine(Protocol[E_co]):
    """Runs turns. Its events are passed on as they are; the use cases do not look into them."""

    def converse(self, caller: Principal, partner: ChatPartner, message: ChatMessage) -> AsyncGenerator[E_co, None]:
        """Stream one turn of the caller.

        Raises:
            MeshError: as the engine answered, or UNAVAILABLE when it cannot be reached.
        """
        ...
