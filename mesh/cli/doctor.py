"""`mnemesh doctor`: looks at everything that running needs, and says what is missing and how to set it."""

from __future__ import annotations

from typing import Annotated

import typer

from mesh.cli.checks import run_checks
from mesh.cli.finding import Finding, Verdict
from mesh.cli.output import out_console, print_json
from mesh.cli.problems import ExitCode
from mesh.cli.settings import read_settings

_MARKS = {Verdict.FINE: ("✓", "ok"), Verdict.NOTE: ("·", "warn"), Verdict.MISSING: ("✗", "bad")}


def command(
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Say what is missing on this machine and how to set it.

    Exits with 0 when nothing is missing, else with 4.

    Example: mnemesh doctor --json
    """
    findings = run_checks(read_settings())
    missing = [finding for finding in findings if finding.verdict is Verdict.MISSING]
    if json_:
        print_json({"ok": not missing, "findings": [finding.as_json() for finding in findings]})
    else:
        _print(findings)
    if missing:
        raise typer.Exit(ExitCode.ENVIRONMENT)


def _print(findings: list[Finding]) -> None:
    console = out_console()
    width = max(len(finding.subject) for finding in findings) + 2
    for finding in findings:
        mark, style = _MARKS[finding.verdict]
        console.print(mark, style=style, end=" ")
        console.print(f"{finding.subject:<{width}}{finding.found}", markup=False, soft_wrap=True)
        if finding.remedy:
            console.print(" " * (width + 2) + "→ " + finding.remedy, markup=False, soft_wrap=True, style="dim")
