"""Child processes that are kept alive: started, watched, started again with growing pauses, and stopped in order.

A child that ends before it was ever ready makes the whole start fail, since its settings or its database are wrong and
waiting does not help. One that was ready is started again; only when it fails again and again without staying up does
the supervisor give up. Children run in sessions of their own, so that Ctrl-C reaches the supervisor alone, which stops
them in the right order; should it be killed itself, they end with it (see `child.py`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from mesh.cli.log_files import last_lines, turn_over
from mesh.cli.problems import Problem, environment_problem
from mesh.kernel.clock import Clock, SystemClock

READY_POLL_S = 0.05
UNPROBED_S = 1.0
"""How long a restarted child that cannot be asked has to live before it is said to be back."""

SHOWN_LOG_LINES = 8


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A process to keep alive.

    Args:
        name: for people, and of its log file.
        module: what `python -m` runs.
        arguments: of the module.
        env: its whole environment.
        log_file: receives what it prints.
        ready: tells whether it can be used; None when being alive is all that is known.
    """

    name: str
    module: str
    arguments: tuple[str, ...]
    env: Mapping[str, str]
    log_file: Path
    ready: Callable[[], Awaitable[bool]] | None = None


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """When a child that ended is started again.

    Args:
        first_pause_s: before the first restart; doubles with every further failure.
        longest_pause_s: its limit.
        most_failures: failures in a row after which to give up.
        steady_after_s: a child that was up for so long counts as sound, and its failures are forgotten.
        start_timeout_s: longest time from start to ready.
        stop_timeout_s: how long a child may take to end when asked to; then it is killed.
    """

    first_pause_s: float = 0.1
    longest_pause_s: float = 5.0
    most_failures: int = 10
    steady_after_s: float = 3.0
    start_timeout_s: float = 60.0
    stop_timeout_s: float = 20.0

    def pause_s(self, failures: int) -> float:
        """Return the pause before a restart, by the number of failures in a row, the last one included."""
        return float(min(self.longest_pause_s, self.first_pause_s * 2 ** (failures - 1)))


class Listener(Protocol):
    """Is told what happens to children."""

    def started(self, name: str, pid: int) -> None:
        """A process was started."""

    def ready(self, name: str) -> None:
        """It can be used."""

    def ended(self, name: str, how: str, pause_s: float) -> None:
        """It ended by itself and is started again after a pause."""


class Supervisor:
    """Keeps children alive. Use as an asynchronous context manager: leaving it kills whatever still runs.

    Args:
        listener: is told what happens.
        policy: of restarts.
        clock: for durations.
    """

    def __init__(self, listener: Listener, policy: RestartPolicy | None = None, clock: Clock | None = None) -> None:
        self._listener = listener
        self._policy = policy or RestartPolicy()
        self._clock = clock or SystemClock()
        self._children: dict[str, _Child] = {}
        self._life_read, self._life_write = os.pipe()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        for child in self._children.values():
            await child.wait()
        os.close(self._life_read)
        os.close(self._life_write)

    def add(self, spec: ChildSpec) -> None:
        """Add a child; `keep` starts it."""
        self._children[spec.name] = _Child(spec, self._policy, self._listener, self._clock, self._life_read)

    async def keep(self, name: str) -> None:
        """Start a child and keep it alive until it is stopped.

        Raises:
            Problem: it did not become ready, or does not stay up.
        """
        await self._children[name].keep()

    async def wait_ready(self, names: Sequence[str]) -> None:
        """Wait until children are ready for the first time; they must be kept meanwhile."""
        for name in names:
            await self._children[name].first_ready.wait()

    async def stop(self, order: Sequence[Sequence[str]]) -> None:
        """Stop children, group after group; those of one group at the same time."""
        for group in order:
            await asyncio.gather(*(self._children[name].stop() for name in group if name in self._children))

    def kill(self) -> None:
        """Kill every child at once; none is started again."""
        for child in self._children.values():
            child.kill()


class _Child:
    def __init__(
        self,
        spec: ChildSpec,
        policy: RestartPolicy,
        listener: Listener,
        clock: Clock,
        life: int,
    ) -> None:
        self._spec = spec
        self._policy = policy
        self._listener = listener
        self._clock = clock
        self._life = life
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self._up_since: float | None = None
        self.first_ready = asyncio.Event()

    async def keep(self) -> None:
        failures = 0
        turn_over(self._spec.log_file)
        while not self._stopping.is_set():
            how = await self._live()
            if self._stopping.is_set():
                return
            if not self.first_ready.is_set():
                raise self._failed(f"{self._spec.name} stopped while starting ({how})", "its log says why")
            failures = 1 if self._was_steady() else failures + 1
            if failures > self._policy.most_failures:
                raise self._failed(f"{self._spec.name} does not stay up ({how})", "its log says why")
            pause_s = self._policy.pause_s(failures)
            self._listener.ended(self._spec.name, how, pause_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_s)

    async def wait(self) -> None:
        if self._process is not None:
            await self._process.wait()

    async def stop(self) -> None:
        self._stopping.set()
        if self._process is None:
            return
        _signal(self._process, signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), self._policy.stop_timeout_s)
        except TimeoutError:
            _signal(self._process, signal.SIGKILL)
            await self._process.wait()

    def kill(self) -> None:
        self._stopping.set()
        if self._process is not None:
            _signal(self._process, signal.SIGKILL)

    async def _live(self) -> str:
        """Run the process once and return how it ended."""
        self._up_since = None
        self._process = process = await self._spawn()
        if self._stopping.is_set():
            _signal(process, signal.SIGKILL)
        self._listener.started(self._spec.name, process.pid)
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(self._await_ready(process))
            code = await process.wait()
            watch.cancel()
        return f"exit {code}" if code >= 0 else f"killed by {_signal_name(-code)}"

    async def _spawn(self) -> asyncio.subprocess.Process:
        with self._spec.log_file.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "mesh.cli.child",
                str(self._life),
                self._spec.module,
                *self._spec.arguments,
                env=dict(self._spec.env),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(self._life,),
                start_new_session=True,
            )

    async def _await_ready(self, process: asyncio.subprocess.Process) -> None:
        if self._spec.ready is None and self.first_ready.is_set():
            await asyncio.sleep(UNPROBED_S)
        if self._spec.ready is not None:
            deadline = self._clock.monotonic_s() + self._policy.start_timeout_s
            while not await self._spec.ready():
                if self._clock.monotonic_s() > deadline:
                    _signal(process, signal.SIGKILL)
                    return
                await asyncio.sleep(READY_POLL_S)
        self._up_since = self._clock.monotonic_s()
        self.first_ready.set()
        self._listener.ready(self._spec.name)

    def _was_steady(self) -> bool:
        return self._up_since is not None and self._clock.monotonic_s() - self._up_since >= self._policy.steady_after_s

    def _failed(self, message: str, remedy: str) -> Problem:
        lines = last_lines(self._spec.log_file, SHOWN_LOG_LINES)
        return environment_problem(message, f"{remedy}, {self._spec.log_file}", lines)


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
