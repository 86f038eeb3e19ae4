"""What the use cases need of other servers; the adapters are in `gateway.clients`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol, TypeVar

from gateway.domain.chat import ChatMessage, ChatPartner
from mesh.kernel.identity import Principal

E_co = TypeVar("E_co", covariant=True)


class Engine(Protocol[E_co]):
    """Runs turns. Its events are passed on as they are; the use cases do not look into them."""

    def converse(self, caller: Principal, partner: ChatPartner, message: ChatMessage) -> AsyncGenerator[E_co, None]:
        """Stream one turn of the caller.

        Raises:
            MeshError: as the engine answered, or UNAVAILABLE when it cannot be reached.
        """
        ...
