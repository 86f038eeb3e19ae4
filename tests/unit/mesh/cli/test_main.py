"""The command line as a whole: help at once, one sentence for what goes wrong, exit codes that scripts can trust."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from mesh.cli import main
from mesh.cli.main import COMMANDS, run
from mesh.cli.problems import ExitCode, Problem


def summary_of(command: main.Command) -> str:
    module = import_module(f"mesh.cli.{command.name}")
    documented = module.options if hasattr(module, "app") else module.command
    return (documented.__doc__ or "").splitlines()[0]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_list_of_commands_says_what_each_command_says(command: main.Command) -> None:
    assert summary_of(command) == command.summary


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help_with_an_example(command: main.Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command.name, "--help"]) == ExitCode.OK
    assert f"Example: mnemesh {command.name}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["create", "list", "revoke"])
def test_every_command_of_keys_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", command, "--help"]) == ExitCode.OK
    assert "Example: mnemesh keys" in capsys.readouterr().out


def test_help_lists_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert all(f"  {command.name} " in out for command in COMMANDS)
    assert "Exit codes:" in out


def test_help_loads_no_command() -> None:
    heavy = ("httpx", "grpc", "psycopg", "sqlalchemy", "mesh.cli.up")
    code = (
        "import sys\nfrom mesh.cli.main import run\nassert run(['--help']) == 0\n"
        f"print(sorted(set({heavy!r}) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("line", "expected"), [("mnemesh ch", "chat"), ("mnemesh chat --av", "--avatar"), ("mnemesh keys re", "revoke")]
)
def test_a_shell_completes_commands_and_options(
    line: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_MNEMESH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    assert run([]) == ExitCode.OK
    assert capsys.readouterr().out.split() == [expected]


def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dance"]) == ExitCode.USAGE
    assert "No such command 'dance'" in capsys.readouterr().err


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == ExitCode.OK
    assert capsys.readouterr().out.startswith("mnemesh ")


def test_an_expected_failure_is_one_sentence_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["serve", "kitchen"])
    assert code == ExitCode.USAGE
    assert capsys.readouterr().err == (
        "mnemesh: there is no server called 'kitchen': choose one of gateway, engine, memory\n"
    )


def test_nobody_at_the_address_is_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "--url", "http://127.0.0.1:1", "list"]) == ExitCode.UNREACHABLE
    assert "start one with `mnemesh up`" in capsys.readouterr().err


def test_a_setting_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("MNEMESH_HTTP_PORT", "eighty")
    monkeypatch.setenv("MNEMESH_HOME", str(tmp_path))
    assert run(["up"]) == ExitCode.ENVIRONMENT
    assert "MNEMESH_HTTP_PORT must be a whole number" in capsys.readouterr().err


def test_an_old_python_is_told_which_one_to_get() -> None:
    with pytest.raises(Problem, match=r"needs Python 3\.11 or newer; this is 3\.9"):
        main._require_python((3, 9))
