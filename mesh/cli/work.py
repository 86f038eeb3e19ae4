"""`mnemesh work`: the worker of one server in the foreground, for containers and for debugging."""

from __future__ import annotations

from typing import Annotated

import typer

from mesh.cli.process import become
from mesh.cli.services import service_named


def command(
    name: Annotated[str, typer.Argument(help="engine or memory.")],
) -> None:
    """Run the worker of one server in the foreground.

    Any number of workers may run at the same time; they share the work.

    Example: mnemesh work engine
    """
    become(service_named(name, worker=True), "work")
