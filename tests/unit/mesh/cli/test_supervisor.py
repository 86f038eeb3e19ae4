"""The supervisor, with children that are a few lines long."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mesh.cli.problems import Problem
from mesh.cli.settings import inherited_environment
from mesh.cli.supervisor import ChildSpec, RestartPolicy, Supervisor

CALM = """
    import pathlib, signal, sys, time
    name, place = sys.argv[1], pathlib.Path(sys.argv[2])
    def leave(*_):
        (place / f"{name}.left").write_text(str(time.monotonic_ns()))
        sys.exit(0)
    signal.signal(signal.SIGTERM, leave)
    (place / f"{name}.up").write_text("")
    print('{"message": "hello from ' + name + '"}', flush=True)
    while True:
        time.sleep(60)
"""
STUBBORN = """
    import pathlib, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (pathlib.Path(sys.argv[2]) / f"{sys.argv[1]}.up").write_text("")
    while True:
        time.sleep(60)
"""
FAILING = """
    import sys
    print('{"level": "ERROR", "message": "MNEMESH_X must be set"}', flush=True)
    sys.exit(3)
"""
SHORT_LIVED = """
    import pathlib, sys
    (pathlib.Path(sys.argv[2]) / f"{sys.argv[1]}.up").write_text("")
    with open(pathlib.Path(sys.argv[2]) / "starts", "a") as file:
        file.write("x")
    sys.stdin.read()
"""
QUICK = RestartPolicy(first_pause_s=0.01, longest_pause_s=0.02, most_failures=3, stop_timeout_s=0.3, start_timeout_s=10)


class Diary:
    def __init__(self) -> None:
        self.pids: dict[str, list[int]] = {}
        self.lines: list[str] = []
        self._changed = asyncio.Event()

    def started(self, name: str, pid: int) -> None:
        self.pids.setdefault(name, []).append(pid)

    def ready(self, name: str) -> None:
        self._note(f"{name} ready")

    def ended(self, name: str, how: str, pause_s: float) -> None:
        self._note(f"{name} {how}")

    async def until(self, line: str, times: int = 1) -> None:
        async with asyncio.timeout(20):
            while self.lines.count(line) < times:
                self._changed.clear()
                await self._changed.wait()

    def _note(self, line: str) -> None:
        self.lines.append(line)
        self._changed.set()


@pytest.fixture
def stub(tmp_path: Path) -> Callable[..., ChildSpec]:
    def make(name: str, code: str, *, probed: bool = True) -> ChildSpec:
        module = f"stub_{name}"
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(code))
        path = os.pathsep.join([str(tmp_path), *sys.path])

        async def ready() -> bool:
            return (tmp_path / f"{name}.up").exists()

        return ChildSpec(
            name=name,
            module=module,
            arguments=(name, str(tmp_path)),
            env={"PYTHONPATH": path},
            log_file=tmp_path / f"{name}.log",
            ready=ready if probed else None,
        )

    return make


async def run(specs: list[ChildSpec], diary: Diary, scene: Callable[[Supervisor], Awaitable[None]]) -> None:
    async with Supervisor(diary, QUICK) as supervisor:
        for spec in specs:
            supervisor.add(spec)
        async with asyncio.TaskGroup() as group:
            for spec in specs:
                group.create_task(supervisor.keep(spec.name))
            await scene(supervisor)
            await supervisor.stop([[spec.name for spec in specs]])


def is_running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


async def test_children_are_stopped_group_after_group(stub: Callable[..., ChildSpec], tmp_path: Path) -> None:
    names = ["first", "second", "third"]
    specs = [stub(name, CALM) for name in names]

    async def scene(supervisor: Supervisor) -> None:
        await supervisor.wait_ready(names)
        await supervisor.stop([["second"], ["first", "third"]])

    await run(specs, Diary(), scene)
    left = {name: int((tmp_path / f"{name}.left").read_text()) for name in names}
    assert left["second"] < min(left["first"], left["third"])


async def test_a_killed_child_is_started_again_and_named(stub: Callable[..., ChildSpec]) -> None:
    diary = Diary()

    async def scene(supervisor: Supervisor) -> None:
        await supervisor.wait_ready(["engine"])
        os.kill(diary.pids["engine"][0], signal.SIGKILL)
        await diary.until("engine ready", times=2)

    await run([stub("engine", CALM)], diary, scene)
    assert diary.lines == ["engine ready", "engine killed by SIGKILL", "engine ready"]
    assert len(set(diary.pids["engine"])) == 2


async def test_a_child_that_cannot_start_ends_the_start_with_its_last_words(stub: Callable[..., ChildSpec]) -> None:
    async def scene(supervisor: Supervisor) -> None:
        await supervisor.wait_ready(["memory"])

    with pytest.raises(ExceptionGroup) as caught:
        await run([stub("memory", FAILING)], Diary(), scene)
    (problem,) = caught.value.exceptions
    assert isinstance(problem, Problem)
    assert problem.message == "memory stopped while starting (exit 3)"
    assert problem.details == ("MNEMESH_X must be set",)


async def test_a_child_that_does_not_stay_up_is_given_up(stub: Callable[..., ChildSpec], tmp_path: Path) -> None:
    async def scene(supervisor: Supervisor) -> None:
        await asyncio.Event().wait()

    with pytest.raises(ExceptionGroup) as caught:
        await run([stub("worker", SHORT_LIVED, probed=False)], Diary(), scene)
    (problem,) = caught.value.exceptions
    assert isinstance(problem, Problem)
    assert problem.message == "worker does not stay up (exit 0)"
    assert (tmp_path / "starts").read_text() == "x" * (QUICK.most_failures + 1)


async def test_a_child_that_ignores_the_request_to_stop_is_killed(stub: Callable[..., ChildSpec]) -> None:
    diary = Diary()

    async def scene(supervisor: Supervisor) -> None:
        await supervisor.wait_ready(["stubborn"])

    started = time.monotonic()
    await run([stub("stubborn", STUBBORN)], diary, scene)
    assert not is_running(diary.pids["stubborn"][0])
    assert time.monotonic() - started < 15


async def test_kill_ends_children_at_once(stub: Callable[..., ChildSpec]) -> None:
    diary = Diary()

    async def scene(supervisor: Supervisor) -> None:
        await supervisor.wait_ready(["stubborn"])
        supervisor.kill()

    await run([stub("stubborn", STUBBORN)], diary, scene)
    assert not is_running(diary.pids["stubborn"][0])


def test_children_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "stub.py").write_text(textwrap.dedent(STUBBORN))
    parent = """
        import os, subprocess, sys, time
        read, write = os.pipe()
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "mesh.cli.child", str(read), "stub", "child", sys.argv[1]],
            pass_fds=(read,), start_new_session=True)
        print(child.pid, flush=True)
        time.sleep(60)
    """
    env = {**inherited_environment(), "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", textwrap.dedent(parent), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        wait_for((tmp_path / "child.up").exists)
        process.kill()
        process.wait()
    wait_for(lambda: not is_running(child))


def test_pauses_double_up_to_a_limit() -> None:
    policy = RestartPolicy(first_pause_s=0.1, longest_pause_s=1.0)
    assert [policy.pause_s(n) for n in range(1, 7)] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0])


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
