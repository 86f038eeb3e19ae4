"""A `LanguageModel` that follows a script: the port's fake, with the order of events that the port demands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from mesh.kernel.errors import MeshError
from mesh.models.protocols import Finish, ModelEvent, ModelRequest, TextDelta, UsageReport


class Pause:
    """A point at which the model waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await self.go_on.wait()


Step = str | Pause | UsageReport | MeshError | Finish | Exception

MEASURED = UsageReport(input_tokens=7, output_tokens=3, measured=True)


def says(*pieces: str, usage: UsageReport = MEASURED) -> list[Step]:
    """Return the script of an answer that succeeds."""
    return [*pieces, usage, Finish()]


@dataclass
class ScriptedModel:
    """Takes one script a call; the last one again when they run out."""

    scripts: list[Sequence[Step]] = field(default_factory=lambda: [says("Hello, ", "you.")])
    provider: str = "openai"
    name: str = "scripted-1"
    requests: list[ModelRequest] = field(default_factory=list)
    closed_early: int = 0
    closed: bool = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(request)
        try:
            for step in script:
                match step:
                    case str():
                        yield TextDelta(step)
                    case Pause():
                        await step.wait()
                    case BaseException():
                        raise step
                    case _:
                        yield step
        except (GeneratorExit, asyncio.CancelledError):
            self.closed_early += 1
            raise

    async def close(self) -> None:
        self.closed = True
