"""`run/state.json`: what runs now, for other commands and for scripts; replaced whole whenever a process changes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from mesh.cli.home import Home, write_private


class StateFile:
    """The state of one `mnemesh up`.

    Args:
        home: whose mesh it is.
        urls: where it can be reached, by name.
        ports: by server.
    """

    def __init__(self, home: Home, urls: Mapping[str, str], ports: Mapping[str, int]) -> None:
        self._path = home.state
        self.urls = dict(urls)
        self.ports = dict(ports)
        self.pids: dict[str, int] = {"up": os.getpid()}

    def set_pid(self, name: str, pid: int) -> None:
        """Note the process of a child."""
        self.pids[name] = pid
        self._write()

    def remove(self) -> None:
        """Forget it, because the mesh has stopped."""
        self._path.unlink(missing_ok=True)

    def as_json(self) -> dict[str, Any]:
        """Return the state as it stands in the file."""
        return {"urls": self.urls, "ports": self.ports, "pids": self.pids}

    def _write(self) -> None:
        write_private(self._path, json.dumps(self.as_json()) + "\n")
