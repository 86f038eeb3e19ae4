"""`mnemesh doctor`: looks at everything that running needs."""

from __future__ import annotations

import typer

from mesh.cli.options import JsonOption
from mesh.cli.problems import ExitCode


def command(json_: JsonOption = False) -> None:
    """Say what is missing on this machine and how to set it.

    Exits with 0 when nothing is missing, else with 4.

    Example: mnemesh doctor --json
    """
    from mesh.cli.checks import print_findings, run_checks  # noqa: PLC0415 - help must not wait for it
    from mesh.cli.settings import read_settings  # noqa: PLC0415

    if not print_findings(run_checks(read_settings()), json_wanted=json_):
        raise typer.Exit(ExitCode.ENVIRONMENT)
