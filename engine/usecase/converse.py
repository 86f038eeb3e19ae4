"""One message: accepted, then answered by a new turn, by one that runs already, or by one that was committed before."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial

from engine.domain.stream import StreamEvent
from engine.domain.thread import ThreadKey
from engine.domain.turn import Message, Replay, is_time_zone
from engine.usecase.accept import AcceptMessage, Joined
from engine.usecase.replay import ReplayTurn
from engine.usecase.run_turn import RunTurn
from engine.usecase.running import RunningTurns
from mesh.kernel.errors import invalid_field
from mesh.kernel.identity import Call


class Converse:
    """Answers messages."""

    def __init__(self, accept: AcceptMessage, run: RunTurn, replay: ReplayTurn, running: RunningTurns) -> None:
        self._accept = accept
        self._run = run
        self._replay = replay
        self._running = running

    async def __call__(self, call: Call, message: Message) -> AsyncGenerator[StreamEvent, None]:
        """Accept a message and return the stream of its turn, which goes on when the stream is left.

        Raises:
            InvalidArgument: the time zone is none; or REQUEST_ID_REUSED.
            NotFound: THREAD_NOT_FOUND.
            Aborted: TURN_IN_PROGRESS.
            ResourceExhausted: OVERLOADED.
        """
        if not is_time_zone(message.time_zone):
            raise invalid_field("time_zone", "must be an IANA time zone such as Europe/Kyiv", "TIME_ZONE")
        key = ThreadKey(call.tenant_id, call.user_id, message.session_id)
        result = await self._accept(key, message)
        if isinstance(result, Replay):
            return await self._replay(key, result.turn_id, message.avatar)
        if isinstance(result, Joined):
            return result.stream.follow()
        return self._running.start(result.attempt, partial(self._run, result)).follow()
