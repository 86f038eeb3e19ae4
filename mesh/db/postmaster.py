"""The main process of a PostgreSQL server: found by its lock file, started as a daemon, told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mesh.db.pg_programs import Account, Programs

_POLL_S = 0.05
_PID_LINE, _PORT_LINE, _STATUS_LINE = 0, 3, 7
"""Lines of `postmaster.pid`. Source: PostgreSQL, src/include/utils/pidfile.h."""

_LAUNCH = '"$@" </dev/null >&2 & echo $!'
"""The shell goes away at once and leaves the server to init, so that it lives on when we do not."""

_REMOVE = """
(
    while kill -0 "$1" 2>/dev/null && [ -d "$2" ]; do sleep 0.5; done
    pid=$(head -n 1 "$2/cluster/postmaster.pid" 2>/dev/null) || exit 0
    kill -QUIT "$pid" 2>/dev/null
    tries=0
    while kill -0 "$pid" 2>/dev/null && [ $tries -lt 20 ]; do sleep 0.1; tries=$((tries + 1)); done
    rm -rf "$2"
) </dev/null >/dev/null 2>&1 &
"""


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A live server; `ready` when it takes connections."""

    pid: int
    port: int
    ready: bool


def find(cluster: Path) -> Postmaster | None:
    """Return the server that runs on a cluster, or None. A lock file alone proves nothing: its writer may be gone."""
    lines = _lock_file_lines(cluster)
    if len(lines) <= _PORT_LINE or not lines[_PID_LINE].isdigit():
        return None
    pid = int(lines[_PID_LINE])
    command = _command_of(pid)
    if "postgres" not in command or str(cluster) not in command:
        return None
    status = lines[_STATUS_LINE].strip() if len(lines) > _STATUS_LINE else ""
    return Postmaster(pid, int(lines[_PORT_LINE] or 0), status == "ready")


def is_gone_within(cluster: Path, timeout_s: float) -> bool:
    """Tell whether no server runs on a cluster any more, or stops to within some seconds."""
    deadline = time.monotonic() + timeout_s
    while find(cluster) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def was_killed(cluster: Path) -> bool:
    """Tell whether the last server left its lock file, and remove it when its process id now belongs to a stranger.

    PostgreSQL itself copes with a lock file whose process is gone; one whose number was given out again, as happens
    when a container starts anew, would stop it. Removing the file is safe: what is left of the killed server is also
    noticed by the shared memory that it holds (since PostgreSQL 12).
    """
    lines = _lock_file_lines(cluster)
    if not lines:
        return False
    if lines[_PID_LINE].isdigit() and _command_of(int(lines[_PID_LINE])) and find(cluster) is None:
        (cluster / "postmaster.pid").unlink(missing_ok=True)
    return True


def launch(programs: Programs, account: Account, cluster: Path, settings: Mapping[str, str], log_file: Path) -> int:
    """Start a server as a daemon in a session of its own and return its process id. It may still fail to come up."""
    command = ["/bin/sh", "-c", _LAUNCH, "sh", str(programs.bin_dir / "postgres"), "-D", str(cluster)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    with os.fdopen(os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        done = subprocess.run(  # noqa: S603 - our own program and arguments
            command,
            check=True,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            **account.spawn_options(),
        )
    return int(done.stdout)


def is_alive(pid: int) -> bool:
    """Tell whether a process exists and has not ended."""
    return bool(_command_of(pid))


def stop(cluster: Path, timeout_s: float) -> None:
    """Stop the server of a cluster: at once for its clients, in order for its data, unless that takes too long."""
    running = find(cluster)
    if running is None:
        return
    for order in (signal.SIGINT, signal.SIGQUIT):
        with suppress(ProcessLookupError):
            os.kill(running.pid, order)
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if not is_alive(running.pid):
                return
            time.sleep(_POLL_S)


def remove_after(owner_pid: int, directory: Path) -> None:
    """Leave a process behind that waits for the end of another, then kills the server of a directory and removes it."""
    subprocess.run(  # noqa: S603 - our own program and arguments
        ["/bin/sh", "-c", _REMOVE, "sh", str(owner_pid), str(directory)],
        check=True,
        start_new_session=True,
        cwd="/",
    )


def _lock_file_lines(cluster: Path) -> list[str]:
    try:
        return (cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


def _command_of(pid: int) -> str:
    """Return the command line of a live process, or an empty text; an ended one that nobody waited for has none."""
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            return (proc / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    done = subprocess.run(  # noqa: S603
        ["/bin/ps", "-o", "command=", "-p", str(pid)], check=False, capture_output=True, text=True
    )
    return "" if "<defunct>" in done.stdout else done.stdout.strip()
