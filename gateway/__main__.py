"""`python -m gateway serve|migrate`: the process around the server."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from mesh.kernel.errors import MeshError
from mesh.runtime.settings import load


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m gateway", description="The edge of a Mnemesh.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="serve HTTP and gRPC")
    migrate = commands.add_parser("migrate", help="bring the schema to this version")
    migrate.add_argument("--stage", choices=("pre", "post", "all"), default="all", help="which revisions to apply")
    migrate.add_argument("--seed-examples", action="store_true", help="insert the two example avatars when missing")
    arguments = parser.parse_args(argv)
    try:
        return _serve() if arguments.command == "serve" else _migrate(arguments)
    except MeshError as error:
        print(f"gateway: {error.message}", file=sys.stderr)
        return 1


def _serve() -> int:
    from gateway.app import serve_until
    from gateway.settings import OTHERS_VARIABLES, GatewaySettings
    from mesh.runtime.serve import run
    from mesh.telemetry.logs import configure_logging

    settings = load(GatewaySettings, os.environ, known=OTHERS_VARIABLES)
    configure_logging("gateway", settings.telemetry.log_level, settings.telemetry.log_format)
    return run(lambda stop: serve_until(stop, settings))


def _migrate(arguments: argparse.Namespace) -> int:
    from gateway.example_avatars import seed
    from gateway.schema import SCHEMA
    from gateway.settings import MigrateSettings
    from mesh.db.migrate import migrate

    settings = load(MigrateSettings, os.environ)
    passwords = {SCHEMA.name: settings.password} if settings.password else {}
    migrate(settings.admin_url, [SCHEMA], passwords=passwords, stage=arguments.stage)
    if arguments.seed_examples:
        seed(settings.admin_url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
