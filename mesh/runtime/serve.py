"""The life of a server process: signals, tasks, and one order of stopping.

`run` owns the process: it starts the event loop, turns the first SIGTERM or Ctrl-C into a stop event and the second
into an immediate exit, and decides the exit code. `serve` owns the parts: it runs workers beside the server, and when
one of them fails or the event is set, it stops everything in one order under one deadline:

    not ready → balancers notice → no new calls, calls in progress finish → workers → connections → telemetry

A part that fails while stopping is logged and the next one is stopped all the same. Work that the deadline cuts off is
safe to cut: what was acknowledged is durable, what was claimed is released by its lease.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from mesh.kernel.errors import MeshError
from mesh.telemetry.stalls import LoopWatchdog

_LOG = logging.getLogger("mesh.runtime")

_KILLED = 128  # plus the number of the signal, as shells have it

Main: TypeAlias = Callable[[asyncio.Event], Awaitable[None]]
Worker: TypeAlias = Callable[[asyncio.Event], Awaitable[None]]
Closer: TypeAlias = Callable[[], Awaitable[None]]


class Servable(Protocol):
    """A server that can be drained; `mesh.rpc.server.MeshServer` is one."""

    async def set_ready(self, ready: bool) -> None:
        """Say whether calls should come."""
        ...

    async def drain(self) -> None:
        """Say that no new calls should come, for good."""
        ...

    async def stop(self, grace_s: float | None = None) -> None:
        """Refuse new calls and end those in progress after a grace period."""
        ...


@dataclass(frozen=True, slots=True)
class DrainSettings:
    """How a process stops.

    Args:
        notice_s: wait between "not ready" and refusing calls, so that balancers stop sending; 0 without a balancer.
        deadline_s: longest time for everything, the notice included.
    """

    notice_s: float = field(
        default=0.0,
        metadata={
            "env": "MNEMESH_DRAIN_NOTICE_SECONDS",
            "doc": "Wait between reporting not ready and refusing calls; set it behind a load balancer.",
        },
    )
    deadline_s: float = field(
        default=15.0,
        metadata={"env": "MNEMESH_STOP_SECONDS", "doc": "Longest time for a process to stop cleanly."},
    )

    def __post_init__(self) -> None:
        if self.notice_s < 0 or self.deadline_s <= self.notice_s:
            raise ValueError("MNEMESH_STOP_SECONDS must be larger than MNEMESH_DRAIN_NOTICE_SECONDS, both not negative")


@dataclass(frozen=True, slots=True)
class Process:
    """The parts of a process, already started.

    Args:
        servers: what answers calls.
        workers: loops beside it, by name; each returns soon after its event is set and never before.
        closers: what is closed at the end, by name and in order: pools, channels, telemetry.
        drain: how long that may take.
        stall_threshold_s: a pause of the event loop that is logged; 0 for none.
    """

    servers: Sequence[Servable] = ()
    workers: Mapping[str, Worker] = field(default_factory=dict)
    closers: Mapping[str, Closer] = field(default_factory=dict)
    drain: DrainSettings = DrainSettings()
    stall_threshold_s: float = 0.0


class WorkerFailed(Exception):
    """A worker ended although nobody asked it to; why has been logged."""


def run(main: Main) -> int:
    """Run a process until it is told to stop, and return its exit code.

    Args:
        main: builds the parts and returns when they are stopped; it gets the event that says when.

    Returns:
        0 after a clean stop, 1 after an error, which has been logged. A second signal exits at once, with 128 plus its
        number.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # noqa: TID251 - gRPC's core reads it once, and logs every GOAWAY
    with asyncio.Runner() as runner:
        return runner.run(_supervised(main))


async def serve(stop: asyncio.Event, process: Process) -> None:
    """Run the parts until the event is set or a worker dies, then stop them in order.

    Raises:
        WorkerFailed: a worker died; everything is stopped by then.
    """
    watchdog = LoopWatchdog(process.stall_threshold_s) if process.stall_threshold_s else None
    if watchdog is not None:
        watchdog.start()
    try:
        await _serve(stop, process)
    finally:
        if watchdog is not None:
            watchdog.stop()


async def _serve(stop: asyncio.Event, process: Process) -> None:
    workers_stop = asyncio.Event()
    failed: list[str] = []
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_watched(name, worker, workers_stop, stop, failed), name=name)
            for name, worker in process.workers.items()
        ]
        try:
            for server in process.servers:
                await server.set_ready(True)
            await stop.wait()
        finally:
            await _stop_all(process, tasks, workers_stop)
    if failed:
        raise WorkerFailed(", ".join(failed))


async def _watched(
    name: str, worker: Worker, workers_stop: asyncio.Event, stop: asyncio.Event, failed: list[str]
) -> None:
    """Run a worker; when it ends by itself, log why and have everything stopped."""
    try:
        await worker(workers_stop)
        if workers_stop.is_set():
            return
        _LOG.error("worker %s ended by itself; the process stops", name)
    except Exception as error:  # noqa: BLE001 - the boundary of a worker: nothing may end it silently
        _LOG.error("worker %s failed; the process stops", name, exc_info=error)
    failed.append(name)
    stop.set()


async def _stop_all(process: Process, tasks: Sequence[asyncio.Task[None]], workers_stop: asyncio.Event) -> None:
    ends = asyncio.get_running_loop().time() + process.drain.deadline_s
    for server in process.servers:
        await _attempt("drain", server.drain(), ends)
    if process.servers and process.drain.notice_s:
        await asyncio.sleep(process.drain.notice_s)
    await asyncio.gather(*(_attempt("server", server.stop(_left(ends) * 0.8), ends) for server in process.servers))
    workers_stop.set()
    await _end_tasks(tasks, ends)
    for name, close in process.closers.items():
        await _attempt(name, close(), ends)


async def _end_tasks(tasks: Sequence[asyncio.Task[None]], ends: float) -> None:
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=_left(ends) * 0.8)
    for task in late:
        _LOG.warning("worker %s did not stop in time and is cancelled", task.get_name())
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _attempt(name: str, step: Awaitable[None], ends: float) -> None:
    """Do one step of stopping; whatever it does, the next step follows."""
    try:
        async with asyncio.timeout(max(_left(ends), 0.5)):
            await step
    except Exception as error:  # noqa: BLE001 - the boundary of a step: the others must still run
        _LOG.warning("%s did not stop cleanly", name, exc_info=error)


def _left(ends: float) -> float:
    return max(0.0, ends - asyncio.get_running_loop().time())


async def _supervised(main: Main) -> int:
    stop = asyncio.Event()
    _take_signals(stop)
    try:
        await main(stop)
    except WorkerFailed:
        return 1
    except MeshError as error:
        _LOG.error("%s", error.message, extra={"reason": error.reason.value})
        _LOG.debug("the cause", exc_info=error)
        return 1
    except Exception as error:  # noqa: BLE001 - the boundary of the process
        _LOG.error("the process failed", exc_info=error)
        return 1
    return 0


def _take_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def take(number: int) -> None:
        if stop.is_set():
            _LOG.warning("stopped at once by a second signal")
            sys.stderr.flush()
            os._exit(_KILLED + number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, take, number)
