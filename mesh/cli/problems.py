"""What can go wrong for the person at the terminal: one sentence, the remedy, and an exit code.

Every expected failure of a command is a `Problem`; `main` prints it without a traceback. Anything else that escapes
is a defect and keeps its traceback.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `mnemesh`; typer adds 2 for wrong usage, and 130 follows from Ctrl-C."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    ENVIRONMENT = 4
    INTERRUPTED = 130


EXIT_CODES_HELP = (
    "Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 no mesh answers, "
    "4 this machine is not ready (port, disk, permission, database), 130 interrupted."
)


class Problem(Exception):
    """An expected failure.

    Args:
        message: what is wrong, one sentence without a full stop at the end.
        remedy: what to do about it, or empty when there is nothing to add.
        exit_code: what the process exits with.
        details: lines that are shown indented below, such as the end of a log.
    """

    def __init__(
        self,
        message: str,
        remedy: str = "",
        exit_code: ExitCode = ExitCode.FAILED,
        details: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.exit_code = exit_code
        self.details = details

    def __str__(self) -> str:
        lines = [f"{self.message}: {self.remedy}" if self.remedy else self.message]
        lines += [f"    {line}" for line in self.details]
        return "\n".join(lines)


def environment_problem(message: str, remedy: str, details: tuple[str, ...] = ()) -> Problem:
    """Return the problem of a machine that is not ready, such as a taken port."""
    return Problem(message, remedy, ExitCode.ENVIRONMENT, details)


def usage_problem(message: str, remedy: str = "") -> Problem:
    """Return the problem of input that can never work, such as a malformed line of a file."""
    return Problem(message, remedy, ExitCode.USAGE)
