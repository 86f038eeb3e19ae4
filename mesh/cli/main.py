"""The entry point `mnemesh`: finds the command, prints expected failures as one sentence, and exits with a code.

Only the command that was asked for is imported; the others are listed by the sentence below. So `mnemesh --help`
answers at once, and `mnemesh chat` does not pay for what `mnemesh up` needs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated

import typer

from mesh.cli.problems import EXIT_CODES_HELP, ExitCode, Problem
from mesh.cli.release import OLDEST_PYTHON, installed_version
from mesh.cli.settings import inherited_environment

COMPLETION_VARIABLE = "_MNEMESH_COMPLETE"


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Args:
        name: as it is typed; `mesh.cli.<name>` has its function `command`, or its typer `app` when it has commands of
            its own.
        summary: the first line of its help.
    """

    name: str
    summary: str


COMMANDS = (
    Command("up", "Start everything on this machine and look after it."),
    Command("chat", "Talk to an avatar in this terminal."),
    Command("ingest", "Remember a dialogue from a file of JSON Lines."),
    Command("keys", "Create, list and revoke API keys."),
    Command("doctor", "Say what is missing on this machine and how to set it."),
    Command("migrate", "Bring the schema of every server to this version."),
    Command("serve", "Run one server in the foreground."),
    Command("work", "Run the worker of one server in the foreground."),
)

ROOT_HELP = f"""Conversations that remember, on PostgreSQL.

Example: mnemesh up

{EXIT_CODES_HELP}"""


def main(argv: Sequence[str] | None = None) -> None:
    """Run `mnemesh`; does not return."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    sys.exit(run(arguments))


def run(arguments: Sequence[str]) -> int:
    """Run `mnemesh` and return its exit code.

    Args:
        arguments: without the program's name.
    """
    try:
        _require_python(sys.version_info[:2])
        app = build(_asked_for(_words_to_complete(inherited_environment()) or arguments))
        app(args=list(arguments), prog_name="mnemesh")
    except SystemExit as stop:
        return _code_of(stop)
    except Problem as problem:
        print(f"mnemesh: {problem}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, has gone; there is nobody to tell.
        sys.stderr.close()
        return ExitCode.FAILED
    return ExitCode.OK


def build(asked_for: str) -> typer.Typer:
    """Return the application with one command in full and the others as names with a summary.

    Args:
        asked_for: the command that will run, or an empty text.
    """
    app = typer.Typer(
        name="mnemesh",
        help=ROOT_HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
    )
    app.callback()(_root)
    for command in COMMANDS:
        if command.name == asked_for:
            _add(app, command)
        else:
            app.command(command.name, help=command.summary)(_not_loaded)
    return app


def _add(app: typer.Typer, command: Command) -> None:
    module = import_module(f"mesh.cli.{command.name}")
    if hasattr(module, "app"):
        app.add_typer(module.app, name=command.name)
    else:
        app.command(command.name)(module.command)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"mnemesh {installed_version()}")
        raise typer.Exit


def _root(
    version_asked: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    pass


def _not_loaded() -> None:
    raise AssertionError("only listed, never run")


def _asked_for(arguments: Sequence[str]) -> str:
    return next((argument for argument in arguments if not argument.startswith("-")), "")


def _words_to_complete(environment: Mapping[str, str]) -> list[str]:
    """Return what stands on the line that a shell wants to complete, or nothing. Source: typer's completion scripts."""
    if COMPLETION_VARIABLE not in environment:
        return []
    line = environment.get("_TYPER_COMPLETE_ARGS") or environment.get("COMP_WORDS", "")
    return line.split()[1:]


def _require_python(found: tuple[int, ...]) -> None:
    if found < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        raise Problem(
            f"Mnemesh needs Python {wanted} or newer; this is {'.'.join(map(str, found))}",
            f"install Python {wanted} and run `make up PYTHON=python{wanted}`",
            ExitCode.ENVIRONMENT,
        )


def _code_of(stop: SystemExit) -> int:
    if stop.code is None:
        return ExitCode.OK
    return stop.code if isinstance(stop.code, int) else ExitCode.FAILED
