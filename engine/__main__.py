"""`python -m engine serve|work|migrate`: the processes around the engine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from mesh.kernel.errors import MeshError
from mesh.runtime.settings import load


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m engine", description="Conversations of a Mnemesh.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="serve conversations over gRPC")
    commands.add_parser("work", help="deliver lessons to memory and sweep")
    migrate = commands.add_parser("migrate", help="bring the schema to this version")
    migrate.add_argument("--stage", choices=("pre", "post", "all"), default="all", help="which revisions to apply")
    arguments = parser.parse_args(argv)
    try:
        return _migrate(arguments) if arguments.command == "migrate" else _run(arguments.command)
    except MeshError as error:
        print(f"engine: {error.message}", file=sys.stderr)
        return 1


def _run(command: str) -> int:
    from engine.app import serve_until, work_until
    from engine.settings import OTHERS_VARIABLES, EngineSettings
    from mesh.runtime.serve import run
    from mesh.telemetry.logs import configure_logging

    settings = load(EngineSettings, os.environ, known=OTHERS_VARIABLES)
    name = "engine" if command == "serve" else "engine-worker"
    configure_logging(name, settings.telemetry.log_level, settings.telemetry.log_format)
    until = serve_until if command == "serve" else work_until
    return run(lambda stop: until(stop, settings))


def _migrate(arguments: argparse.Namespace) -> int:
    from engine.schema import SCHEMA
    from engine.settings import MigrateSettings
    from mesh.db.migrate import migrate

    settings = load(MigrateSettings, os.environ)
    passwords = {SCHEMA.name: settings.password} if settings.password else {}
    migrate(settings.admin_url, [SCHEMA], passwords=passwords, stage=arguments.stage)
    return 0


if __name__ == "__main__":
    sys.exit(main())
