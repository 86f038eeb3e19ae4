"""The life of a process: order of stopping, workers that die, signals."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.runtime.serve import DrainSettings, Process, WorkerFailed, run, serve

ROOT = Path(__file__).parents[4]


class Server:
    """Writes down what is asked of it."""

    def __init__(self, events: list[str], *, fails: bool = False, hangs: bool = False) -> None:
        self.events = events
        self.fails = fails
        self.hangs = hangs
        self.grace_s: float | None = None

    async def set_ready(self, ready: bool) -> None:
        self.events.append(f"ready={ready}")

    async def drain(self) -> None:
        self.events.append("drain")

    async def stop(self, grace_s: float | None = None) -> None:
        self.events.append("server stop")
        self.grace_s = grace_s
        if self.fails:
            raise RuntimeError("no")
        if self.hangs:
            await asyncio.Event().wait()


def _parts(events: list[str], server: Server, deadline_s: float = 5.0) -> Process:
    async def worker(stop: asyncio.Event) -> None:
        await stop.wait()
        events.append("worker stop")

    async def pool() -> None:
        events.append("pool close")

    async def telemetry() -> None:
        events.append("telemetry flush")

    return Process(
        servers=[server],
        workers={"relay": worker},
        closers={"pool": pool, "telemetry": telemetry},
        drain=DrainSettings(deadline_s=deadline_s),
    )


async def _serve_and_stop(process: Process) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().call_soon(stop.set)
    await serve(stop, process)


async def test_parts_stop_in_one_order() -> None:
    events: list[str] = []
    server = Server(events)
    await _serve_and_stop(_parts(events, server))
    assert events == ["ready=True", "drain", "server stop", "worker stop", "pool close", "telemetry flush"]
    assert server.grace_s is not None
    assert 0 < server.grace_s < 5


async def test_part_that_fails_while_stopping_does_not_keep_the_others(caplog: pytest.LogCaptureFixture) -> None:
    events: list[str] = []
    await _serve_and_stop(_parts(events, Server(events, fails=True)))
    assert events[-3:] == ["worker stop", "pool close", "telemetry flush"]
    assert "server did not stop cleanly" in caplog.text


async def test_server_that_hangs_is_left_behind_at_the_deadline() -> None:
    events: list[str] = []
    started = time.monotonic()
    await _serve_and_stop(_parts(events, Server(events, hangs=True), deadline_s=0.3))
    assert events[-3:] == ["worker stop", "pool close", "telemetry flush"]
    assert time.monotonic() - started < 3


async def test_worker_that_does_not_stop_is_cancelled_at_the_deadline(caplog: pytest.LogCaptureFixture) -> None:
    cancelled = asyncio.Event()

    async def stubborn(stop: asyncio.Event) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    await _serve_and_stop(Process(workers={"stubborn": stubborn}, drain=DrainSettings(deadline_s=0.2)))
    assert cancelled.is_set()
    assert "worker stubborn did not stop in time" in caplog.text


async def test_dead_worker_stops_everything_and_its_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    events: list[str] = []
    parts = _parts(events, Server(events))

    async def dying(stop: asyncio.Event) -> None:
        raise RuntimeError("out of luck")

    process = Process(parts.servers, {**parts.workers, "dying": dying}, parts.closers, parts.drain)
    with pytest.raises(WorkerFailed, match="dying"):
        await serve(asyncio.Event(), process)
    assert events[-4:] == ["server stop", "worker stop", "pool close", "telemetry flush"]
    assert "worker dying failed" in caplog.text
    assert "out of luck" in caplog.text


async def test_worker_that_ends_by_itself_is_a_failure() -> None:
    async def short(stop: asyncio.Event) -> None:
        return

    with pytest.raises(WorkerFailed, match="short"):
        await serve(asyncio.Event(), Process(workers={"short": short}))


def test_exit_code_is_zero_after_a_clean_stop_and_one_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async def clean(stop: asyncio.Event) -> None:
        return

    async def misconfigured(stop: asyncio.Event) -> None:
        raise FailedPrecondition(Reason.CONFIGURATION_INVALID, "MNEMESH_URL must be set.")

    async def broken(stop: asyncio.Event) -> None:
        raise RuntimeError("what")

    with caplog.at_level(logging.INFO):
        assert run(clean) == 0
        assert not caplog.records
        assert run(misconfigured) == 1
        assert [(record.message, record.exc_info) for record in caplog.records] == [("MNEMESH_URL must be set.", None)]
        assert run(broken) == 1
        assert caplog.records[-1].exc_info


SCRIPT = """
    import asyncio, sys
    from mesh.runtime.serve import Process, DrainSettings, run, serve

    async def main(stop):
        async def worker(stop):
            print("started", flush=True)
            await stop.wait()
            print("stopping", flush=True)
            await asyncio.sleep({stop_s})
        await serve(stop, Process(workers={{"w": worker}}, drain=DrainSettings(deadline_s=30)))

    sys.exit(run(main))
"""


def _process(stop_s: float) -> subprocess.Popen[str]:
    script = textwrap.dedent(SCRIPT.format(stop_s=stop_s))
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_first_signal_stops_cleanly_and_prints_nothing(number: signal.Signals) -> None:
    with _process(stop_s=0) as process:
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_second_signal_exits_at_once() -> None:
    with _process(stop_s=25) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
    assert process.returncode == 128 + signal.SIGINT
