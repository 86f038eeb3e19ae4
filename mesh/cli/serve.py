"""`mnemesh serve`: one server in the foreground, for containers and for debugging."""

from __future__ import annotations

from typing import Annotated

import typer

from mesh.cli.process import become
from mesh.cli.services import service_named


def command(
    name: Annotated[str, typer.Argument(help="gateway, engine or memory.")],
) -> None:
    """Run one server in the foreground.

    It reads its settings from the environment, MNEMESH_DATABASE_URL and MNEMESH_IDENTITY_KEYS at least, and refuses to
    serve on a schema that is behind.

    Example: mnemesh serve engine
    """
    become(service_named(name), "serve")
