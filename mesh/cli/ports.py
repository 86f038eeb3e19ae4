"""Ports of this machine: whether one is free, and what to do when the one that is wanted is not."""

from __future__ import annotations

import errno
import socket
import time

from mesh.cli.problems import environment_problem

LOOPBACK = "127.0.0.1"
_SETTLE_POLL_S = 0.05
_LOWEST_OPEN_PORT = 1
_HIGHEST_PORT = 65535


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Tell whether a server could listen on a port now.

    Raises:
        Problem: the port does not exist, or this user may not listen on it.
    """
    if not _LOWEST_OPEN_PORT <= port <= _HIGHEST_PORT:
        raise environment_problem(f"{port} is not a port", f"choose one from {_LOWEST_OPEN_PORT} to {_HIGHEST_PORT}")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections of a predecessor that still linger are no obstacle, a listener is.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise environment_problem(
                f"port {port} on {host} cannot be used ({error.strerror})", "choose another"
            ) from error
    return True


def require_free(port: int, remedy: str, *, host: str = LOOPBACK, settle_s: float = 0.0) -> int:
    """Return a port that is free.

    Args:
        port: the one that is wanted.
        remedy: what to do when it is taken, for the person.
        host: address to listen on.
        settle_s: how long a process that is just ending may still hold it.

    Raises:
        Problem: another program listens there.
    """
    deadline = time.monotonic() + settle_s
    while not is_free(port, host):
        if time.monotonic() >= deadline:
            raise environment_problem(f"port {port} is taken by another program", remedy)
        time.sleep(_SETTLE_POLL_S)
    return port


def free_port(host: str = LOOPBACK) -> int:
    """Return a port that is free now, chosen by the system."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
