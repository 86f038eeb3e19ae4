"""A fake Gemini for whole meshes: steps for one verb, and answers that wait until the test lets them go on."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict, deque

from starlette.requests import Request
from starlette.responses import Response

from tests.wire.gemini import FakeGemini
from tests.wire.steps import Say, Step


class MeshGemini(FakeGemini):
    """Answers, extracts and embeds for one mesh, which asks for all three at once."""

    def __init__(self) -> None:
        super().__init__()
        self._by_verb: dict[str, deque[Step]] = defaultdict(deque)
        self._gate = threading.Event()
        self._gate.set()

    def script_for(self, verb: str, *steps: Step) -> None:
        """Queue what the next requests of a verb get, such as `streamGenerateContent`."""
        self._by_verb[verb].extend(steps)

    def shut(self) -> None:
        """Hold back every piece of an answer but the first from now on."""
        self._gate.clear()

    def open(self) -> None:
        """Let answers go on."""
        self._gate.set()

    def reset(self) -> None:
        """Forget steps, requests and conduct."""
        super().reset()
        self.forget_steps()

    def forget_steps(self) -> None:
        """Behave well from now on."""
        self._by_verb.clear()

    async def pace(self, say: Say, index: int) -> None:
        await super().pace(say, index)
        if index == 1:
            await asyncio.to_thread(self._gate.wait, 20)

    async def _handle(self, request: Request) -> Response:
        await request.body()  # it is kept, so nothing comes between the step and the request that it is for
        waiting = self._by_verb[request.url.path.rpartition(":")[2]]
        if waiting:
            self._steps.appendleft(waiting.popleft())
        return await super()._handle(request)
