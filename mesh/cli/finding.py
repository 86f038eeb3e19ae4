"""One thing that `mnemesh doctor` looked at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mesh.cli.home import Home
from mesh.cli.settings import CliSettings


class Verdict(StrEnum):
    """How a finding counts."""

    FINE = "fine"
    NOTE = "note"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one subject.

    Args:
        subject: what was looked at.
        verdict: whether it is fine, worth knowing, or missing.
        found: what is there, in a few words.
        remedy: how to set it; empty when nothing needs to be done.
    """

    subject: str
    verdict: Verdict
    found: str
    remedy: str = ""

    def as_json(self) -> dict[str, str]:
        """Return it for `--json`."""
        return {"subject": self.subject, "verdict": self.verdict, "found": self.found, "remedy": self.remedy}


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at.

    Args:
        settings: of this process.
        home: of the mesh; it may not exist yet.
        state: of the mesh that runs here, or None.
    """

    settings: CliSettings
    home: Home
    state: dict[str, Any] | None


def fine(subject: str, found: str) -> Finding:
    """Return a finding that needs nothing."""
    return Finding(subject, Verdict.FINE, found)


def note(subject: str, found: str, remedy: str) -> Finding:
    """Return a finding that is no obstacle."""
    return Finding(subject, Verdict.NOTE, found, remedy)


def missing(subject: str, found: str, remedy: str) -> Finding:
    """Return a finding that keeps the mesh from running."""
    return Finding(subject, Verdict.MISSING, found, remedy)
