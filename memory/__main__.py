"""`python -m memory serve|work|migrate`: the process around the server."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from mesh.kernel.errors import MeshError
from mesh.runtime.settings import load


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m memory", description="The memory of a Mnemesh.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="serve facts, chunks and recall over gRPC")
    commands.add_parser("work", help="make vectors that are still missing, and sweep")
    migrate = commands.add_parser("migrate", help="bring the schema to this version")
    migrate.add_argument("--stage", choices=("pre", "post", "all"), default="all", help="which revisions to apply")
    arguments = parser.parse_args(argv)
    try:
        return _migrate(arguments.stage) if arguments.command == "migrate" else _run(arguments.command)
    except MeshError as error:
        print(f"memory: {error.message}", file=sys.stderr)
        return 1


def _run(command: str) -> int:
    from memory.app import serve_memory, work_memory
    from memory.settings import OTHERS_VARIABLES, MemorySettings
    from mesh.runtime.serve import run
    from mesh.telemetry.logs import configure_logging

    settings = load(MemorySettings, os.environ, known=OTHERS_VARIABLES)
    configure_logging("memory", settings.telemetry.log_level, settings.telemetry.log_format)
    process = serve_memory if command == "serve" else work_memory
    return run(lambda stop: process(settings, stop))


def _migrate(stage: Any) -> int:
    from memory.schema import SCHEMA
    from memory.settings import MigrateSettings
    from mesh.db.migrate import migrate

    settings = load(MigrateSettings, os.environ)
    passwords = {SCHEMA.name: settings.password} if settings.password else {}
    migrate(settings.admin_url, [SCHEMA], passwords=passwords, stage=stage)
    return 0


if __name__ == "__main__":
    sys.exit(main())
