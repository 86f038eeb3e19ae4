"""Migrating the schemas of every server, as a command."""

from __future__ import annotations

import time

from mesh.cli.database import choose_database
from mesh.cli.examples import seed_examples
from mesh.cli.home import locate_home, prepare_home
from mesh.cli.output import err_console, out_console, print_json, tick
from mesh.cli.schema_state import schema_of
from mesh.cli.schemas import bring_up_to_date
from mesh.cli.services import installed_services
from mesh.cli.settings import read_settings
from mesh.cli.waiting import Waiting
from mesh.db.migrate import Stage
from mesh.db.revisions import head, last_pre


def migrate_all(stage: Stage, *, examples: bool, json_wanted: bool) -> None:
    """Migrate the database that is set, or the embedded one of this home, and say how far everything is.

    Args:
        stage: which revisions.
        examples: whether to add the example avatars.
        json_wanted: True to print JSON.

    Raises:
        Problem: the database does not allow it.
    """
    settings = read_settings()
    home = locate_home(settings)
    if not settings.database_url:
        prepare_home(home)
    services = installed_services()
    database = choose_database(settings.database_url, home)
    started = time.monotonic()
    with Waiting(err_console(), "migrating"), database.used() as info:
        passwords = database.passwords(services) if info.pid else settings.chosen_passwords()
        bring_up_to_date(info, services, passwords, stage)
        if examples:
            seed_examples(info)
    reached = last_pre if stage == "pre" else head
    revisions = {service.name: reached(schema_of(service).migrations_dir) for service in services}
    seconds = round(time.monotonic() - started, 2)
    if json_wanted:
        print_json({"revisions": revisions, "seconds": seconds})
    else:
        shown = ", ".join(f"{name} {revision}" for name, revision in revisions.items())
        out_console().print(tick(f"migrated {shown} in {seconds:.1f} s"))
