"""Becoming a server or a worker: this process is replaced, so that signals and exit codes are those of the server."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from mesh.cli.services import Service
from mesh.cli.settings import inherited_environment


def become(service: Service, role: str) -> NoReturn:
    """Replace this process by a server (`serve`) or its worker (`work`), with the same environment."""
    sys.stdout.flush()
    sys.stderr.flush()
    arguments = [sys.executable, "-P", "-m", service.name, role]
    os.execve(sys.executable, arguments, inherited_environment())  # noqa: S606 - our own program and arguments
