"""`mnemesh migrate`: brings every server's schema to this version, in one process and under one lock."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated

import typer

from mesh.cli.caller import JsonOption
from mesh.cli.database import bring_up_to_date, choose_database, schema_of, seed_examples
from mesh.cli.home import locate_home, prepare_home
from mesh.cli.output import err_console, out_console, print_json, tick
from mesh.cli.services import installed_services
from mesh.cli.settings import read_settings
from mesh.cli.waiting import Waiting
from mesh.db.migrate import Stage
from mesh.db.revisions import head, last_pre


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
    settings = read_settings()
    home = locate_home(settings)
    if not settings.database_url:
        prepare_home(home)
    services = installed_services()
    database = choose_database(settings.database_url, home)
    started = time.monotonic()
    chosen: Stage = stage.value
    with Waiting(err_console(), "migrating"), database.used() as info:
        passwords = database.passwords(services) if info.pid else settings.chosen_passwords()
        bring_up_to_date(info, services, passwords, chosen)
        if examples:
            seed_examples(info)
    reached = last_pre if stage is StageChoice.PRE else head
    revisions = {service.name: reached(schema_of(service).migrations_dir) for service in services}
    seconds = round(time.monotonic() - started, 2)
    if json_:
        print_json({"revisions": revisions, "seconds": seconds})
    else:
        shown = ", ".join(f"{name} {revision}" for name, revision in revisions.items())
        out_console().print(tick(f"migrated {shown} in {seconds:.1f} s"))
