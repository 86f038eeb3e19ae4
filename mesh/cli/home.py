"""MNEMESH_HOME: the one directory of a mesh on this machine, and the secrets in it.

    postgres/     the embedded database
    objects/      bytes of attachments
    models/       the prepared embedder
    run/          what runs now: a lock and `state.json`
    log/          one file of JSON lines a process
    credentials   passwords of the database roles and the keys that sign identity; 0600

Deleting the directory is the whole of uninstalling the data. Other users may pass through it but not look into it,
since an embedded PostgreSQL that root starts runs as another user and has to reach its own directory.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mesh.cli.problems import Problem, environment_problem
from mesh.cli.settings import CliSettings

LEAST_FREE_BYTES = 200 * 1024 * 1024
"""A new cluster takes 40 MB, its log of changes up to 1 GB later; with less than this, starting is not worth it."""

FOLDERS = ("postgres", "objects", "models", "run", "log")
DIRECTORY_MODE = 0o711
SECRET_MODE = 0o600
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of one home."""

    root: Path

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def objects(self) -> Path:
        return self.root / "objects"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def credentials(self) -> Path:
        return self.root / "credentials"

    @property
    def state(self) -> Path:
        return self.run / "state.json"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secrets of a home, made once.

    Args:
        role_passwords: password of the runtime role of each server on a database that is not embedded; the embedded one
            keeps its own.
        identity_keys: keys that sign identity between servers; the first signs, all verify.
    """

    role_passwords: Mapping[str, str]
    identity_keys: tuple[str, ...]


def locate_home(settings: CliSettings) -> Home:
    """Return the home that is meant, without touching the disk."""
    return Home((Path(settings.home) if settings.home else default_home(settings)).expanduser().absolute())


def default_home(settings: CliSettings) -> Path:
    """Return where data of this user belongs on this system.

    Root's own directory is closed to the user that its PostgreSQL runs as, so root's home is where the system keeps
    state. Source: XDG Base Directory Specification; Apple's File System Programming Guide.
    """
    if settings.data_home:
        return Path(settings.data_home) / "mnemesh"
    if os.geteuid() == 0:
        return Path("/var/lib/mnemesh")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "mnemesh"
    return Path.home() / ".local" / "share" / "mnemesh"


def prepare_home(home: Home) -> None:
    """Make the directories of a home.

    Raises:
        Problem: the disk or its permissions do not allow it.
    """
    try:
        for path in (home.root, *(home.root / folder for folder in FOLDERS)):
            if not path.is_dir():
                path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        _probe_writing(home.run)
    except OSError as error:
        raise disk_problem(home, error) from error


def require_room(home: Home) -> None:
    """Refuse to start on a disk that is nearly full.

    Raises:
        Problem: there is too little room.
    """
    free = shutil.disk_usage(home.root).free
    if free < LEAST_FREE_BYTES:
        raise environment_problem(
            f"the disk of {home.root} has only {free >> 20} MB left, and PostgreSQL needs {LEAST_FREE_BYTES >> 20}",
            "free some, or set MNEMESH_HOME to a directory on another disk",
        )


def disk_problem(home: Home, error: OSError) -> Problem:
    """Return what an error of the file system means to a person."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return environment_problem(
            f"no space is left on the disk of {home.root}",
            "free some, or set MNEMESH_HOME to a directory on another disk",
        )
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return environment_problem(
            f"{error.filename or home.root} cannot be written by this user",
            "set MNEMESH_HOME to a directory of your own, or start as the user who made it",
        )
    return environment_problem(
        f"{error.filename or home.root} cannot be used ({error.strerror or type(error).__name__})",
        "set MNEMESH_HOME to another directory",
    )


def load_credentials(home: Home, services: tuple[str, ...] = ()) -> Credentials:
    """Return the secrets of a home, making those that are missing.

    Args:
        home: prepared before.
        services: servers that need the password of a role.

    Raises:
        Problem: the file cannot be read or written, or is damaged.
    """
    try:
        known = _read_credentials(home) if home.credentials.exists() else None
        complete = _completed(known, services)
        if complete != known:
            write_private(home.credentials, json.dumps(asdict(complete), indent=2) + "\n")
        return complete
    except OSError as error:
        raise disk_problem(home, error) from error


def write_private(path: Path, text: str) -> None:
    """Replace a file at once by one that only its owner can read."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, SECRET_MODE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), SECRET_MODE)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """Hold a home, so that one `mnemesh up` at a time uses it; the lock ends with the process, however it ends.

    Raises:
        Problem: another process holds it.
    """
    descriptor = os.open(home.run / "lock", os.O_RDWR | os.O_CREAT, SECRET_MODE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _already_runs(home, descriptor) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def read_state(home: Home) -> dict[str, Any] | None:
    """Return what `mnemesh up` wrote about the mesh of this home, or None when none runs."""
    try:
        state = json.loads(home.state.read_text(encoding="utf-8"))
        os.kill(int(state["pids"]["up"]), 0)
    except PermissionError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return state if isinstance(state, dict) else None


def _probe_writing(folder: Path) -> None:
    probe = folder / f".probe.{os.getpid()}"
    probe.write_bytes(b"\0" * 4096)
    probe.unlink()


def _already_runs(home: Home, descriptor: int) -> Problem:
    pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
    who = f" (process {pid})" if pid.isdigit() else ""
    return environment_problem(
        f"a mesh already runs on {home.root}{who}",
        "talk to it with `mnemesh chat`, stop it with Ctrl-C, or set MNEMESH_HOME to start a second one",
    )


def _read_credentials(home: Home) -> Credentials:
    try:
        raw = json.loads(home.credentials.read_text(encoding="utf-8"))
        return Credentials(
            role_passwords={str(name): str(word) for name, word in raw["role_passwords"].items()},
            identity_keys=tuple(str(key) for key in raw["identity_keys"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise environment_problem(
            f"{home.credentials} is damaged",
            "restore it from a backup; when there is none, remove it and start again, and new secrets are made",
        ) from error


def _completed(known: Credentials | None, services: tuple[str, ...]) -> Credentials:
    passwords = dict(known.role_passwords) if known else {}
    for service in services:
        passwords.setdefault(service, secrets.token_urlsafe(_SECRET_BYTES))
    return Credentials(
        role_passwords=passwords,
        identity_keys=known.identity_keys if known else (secrets.token_urlsafe(_SECRET_BYTES),),
    )
