"""`mnemesh migrate`: every server's schema, in one process and under one lock."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mesh.cli.options import JsonOption


class StageChoice(StrEnum):
    """Which revisions: those before new code runs, those after old code is gone, or both."""

    PRE = "pre"
    POST = "post"
    ALL = "all"


def command(
    stage: Annotated[
        StageChoice, typer.Option("--stage", help="pre: before new code starts; post: once old code is gone.")
    ] = StageChoice.ALL,
    examples: Annotated[bool, typer.Option("--seed-examples", help="Add the two example avatars as well.")] = False,
    json_: JsonOption = False,
) -> None:
    """Bring the schema of every server to this version.

    Works on MNEMESH_ADMIN_DATABASE_URL (or MNEMESH_DATABASE_URL), a role that may create roles; without one, on the
    embedded database of this home. Two at the same time are safe. On a database that is not embedded the runtime roles
    get the passwords in MNEMESH_GATEWAY_DB_PASSWORD, MNEMESH_ENGINE_DB_PASSWORD and MNEMESH_MEMORY_DB_PASSWORD.

    Example: mnemesh migrate --stage pre
    """
    from mesh.cli.migration import migrate_all  # noqa: PLC0415 - help and completion must not wait for it

    migrate_all(stage.value, examples=examples, json_wanted=json_)
