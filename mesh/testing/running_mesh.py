"""A whole mesh as a person starts it: `mnemesh up` in a process of its own, in a home of its own, on ports of its own.

For tests and benchmarks that must see processes start, die and come back. Only the public interfaces are used.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from mesh.cli.http_client import ClientOptions, MeshClient
from mesh.cli.ports import LOOPBACK, free_port
from mesh.cli.services import SERVICES
from mesh.cli.settings import inherited_environment

START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 60.0
COMMAND_TIMEOUT_S = 60.0
MODELS = Path.home() / ".cache" / "mnemesh" / "models"
"""Where memory keeps the prepared embedder when it has no home. Its files are checked against digests."""

_POLL_S = 0.02
_FOREIGN = ("GEMINI_API_KEY", "OPENAI_API_KEY", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD")


class RunningMesh:
    """A mesh in a temporary home. Leaving the context stops it and removes the home.

    Args:
        settings: environment variables of `mnemesh up`, on top of an environment without settings of Mnemesh.
        share_models: True to use the prepared embedder of this user, which is made once for a machine; False to have
            the mesh prepare its own, as a new home does.
    """

    def __init__(self, settings: Mapping[str, str] | None = None, *, share_models: bool = True) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="mnemesh-home-"))
        # An embedded PostgreSQL that root starts runs as another user, who has to get in.
        self.home.chmod(0o755)
        if share_models:
            MODELS.mkdir(parents=True, exist_ok=True)
            (self.home / "models").symlink_to(MODELS)
        self._settings = {**_free_addresses(), **(settings or {})}
        self._process: subprocess.Popen[str] | None = None
        self.report: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Base URL of HTTP."""
        return f"http://{LOOPBACK}:{self._settings['MNEMESH_HTTP_PORT']}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of `mnemesh up`, with which other commands find this mesh too."""
        foreign = {name for name in inherited_environment() if name.startswith("MNEMESH_")} | set(_FOREIGN)
        kept = {name: value for name, value in inherited_environment().items() if name not in foreign}
        path = os.pathsep.join(entry for entry in sys.path if entry)
        return {**kept, "PYTHONPATH": path, "MNEMESH_HOME": str(self.home), **self._settings}

    def start(self) -> dict[str, Any]:
        """Start it and return what `mnemesh up --json` reports when everything is ready.

        Raises:
            RuntimeError: it does not start; the message holds what it said.
        """
        errors = self.home / "up.err"
        with errors.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mesh.cli", "up", "--json"],
                env=self.environment,
                cwd=self.home,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                start_new_session=True,
            )
        line = self._first_line(self._process)
        if not line:
            raise RuntimeError(f"mnemesh up ended:\n{errors.read_text(errors='replace')}")
        self.report = json.loads(line)
        return self.report

    def client(self, user_id: str = "", api_key: str = "") -> MeshClient:
        """Return a caller of it; the caller of this closes it."""
        return MeshClient(ClientOptions(self.url, user_id=user_id, api_key=api_key))

    def pids(self) -> dict[str, int]:
        """Return the processes that run now, by name."""
        state = json.loads((self.home / "run" / "state.json").read_text())
        return {str(name): int(pid) for name, pid in state["pids"].items()}

    def kill(self, name: str) -> None:
        """Kill one process with SIGKILL; no error when it is gone already."""
        _kill(self.pids()[name])

    def kill_everything(self) -> None:
        """Kill every process of it at once, PostgreSQL too, as a power cut would."""
        pids = self.pids()
        for pid in pids.values():
            _kill(pid)
        if self._process is not None:
            self._end_process(self._process)
        _await_gone(pids.values())

    def kill_command(self) -> None:
        """Kill `mnemesh up` alone; what it started has to end by itself, all but PostgreSQL."""
        if self._process is not None:
            self._process.kill()
            self._end_process(self._process)

    def stop(self) -> int:
        """Stop it as Ctrl-C does, and return the exit code."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGINT)
        return self._end_process(self._process)

    def close(self) -> None:
        """Stop it, whatever state it is in, and remove its home."""
        try:
            if self._process is not None:
                self.stop()
        except subprocess.TimeoutExpired:
            self.kill_everything()
        finally:
            shutil.rmtree(self.home, ignore_errors=True)

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run another command of `mnemesh` on this mesh and return what it printed."""
        return subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "mesh.cli", *arguments],
            env=self.environment,
            cwd=self.home,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )

    def logs(self) -> str:
        """Return what every process said, for a failed test."""
        files = [self.home / "up.err", *sorted((self.home / "log").glob("*.log"))]
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')}" for file in files if file.exists())

    def _first_line(self, process: subprocess.Popen[str]) -> str:
        impatience = threading.Timer(START_TIMEOUT_S, process.kill)
        impatience.start()
        try:
            return process.stdout.readline() if process.stdout is not None else ""
        finally:
            impatience.cancel()

    def _end_process(self, process: subprocess.Popen[str]) -> int:
        process.communicate(timeout=STOP_TIMEOUT_S)
        self._process = None
        return process.returncode


def is_running(pid: int) -> bool:
    """Tell whether a process lives; one that ended and was not waited for does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False


@pytest.fixture(scope="session")
def up_mesh() -> Iterator[RunningMesh]:
    """One mesh for every test that needs processes; tests keep apart by being different users."""
    with RunningMesh() as mesh:
        yield mesh


def _free_addresses() -> dict[str, str]:
    addresses = {service.listen_variable: f"{LOOPBACK}:{free_port()}" for service in SERVICES}
    return {"MNEMESH_HTTP_PORT": str(free_port()), **addresses}


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _await_gone(pids: Iterable[int]) -> None:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    for pid in pids:
        while is_running(pid):
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {pid} does not end")
            time.sleep(_POLL_S)
