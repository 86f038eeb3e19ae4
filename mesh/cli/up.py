"""`mnemesh up`: everything on one machine."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    http_port: Annotated[
        int | None, typer.Option("--http-port", help="Port of HTTP. Default: MNEMESH_HTTP_PORT, then 8080.")
    ] = None,
    examples: Annotated[
        bool, typer.Option("--examples/--no-examples", help="Add the two example avatars when they are missing.")
    ] = True,
    json_: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON on standard output when everything is ready.")
    ] = False,
) -> None:
    """Start everything on this machine and look after it.

    PostgreSQL, the servers and their workers run until Ctrl-C; a process that ends by itself is started again.
    Everything that is kept is in MNEMESH_HOME. MNEMESH_DATABASE_URL uses another PostgreSQL, as a role that may
    create roles.

    Example: mnemesh up --http-port 9000
    """
    from mesh.cli.mesh_run import run_mesh  # noqa: PLC0415 - help and completion must not wait for it

    run_mesh(http_port=http_port, examples=examples, json_wanted=json_)
