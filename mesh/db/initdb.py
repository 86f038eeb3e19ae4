"""A new cluster of PostgreSQL, made whole or not at all."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from mesh.db.pg_programs import Account, Programs
from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason

_BUILTIN_LOCALES = 17
"""The first PostgreSQL whose own C.UTF-8 locale sorts the same on every machine."""


@dataclass(frozen=True, slots=True)
class Admin:
    """The superuser of a cluster."""

    name: str
    password: str = field(repr=False)


def initialise(programs: Programs, account: Account, cluster: Path, admin: Admin, *, durable: bool) -> None:
    """Make a cluster beside its place and move it there, so that an interrupted attempt leaves nothing in the way.

    Args:
        programs: whose `initdb` runs.
        account: who runs it and owns the files.
        cluster: where it is to be; its parent exists.
        admin: the superuser, who needs the password on every connection.
        durable: wait until all is on the disk.

    Raises:
        FailedPrecondition: `initdb` failed; the message ends with what it said.
    """
    draft = cluster.with_name(cluster.name + ".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    account.give(draft)
    password_file = cluster.with_name("initdb.password")
    _write_password(password_file, admin.password, account)
    arguments = ["-D", str(draft), "-U", admin.name, f"--pwfile={password_file}", "--auth=scram-sha-256"]
    arguments += ["--encoding=UTF8", "--locale=C", "--no-instructions"]
    if programs.major >= _BUILTIN_LOCALES:
        arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    if not durable:
        arguments.append("--no-sync")
    done = programs.run("initdb", arguments, account)
    password_file.unlink()
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").strip().splitlines()[-2:])
        raise FailedPrecondition(Reason.CONFIGURATION_INVALID, f"initdb could not make {cluster}: {said}")
    draft.rename(cluster)


def require_version(cluster: Path, programs: Programs) -> None:
    """Refuse a cluster that another major version of PostgreSQL made.

    Raises:
        FailedPrecondition: the versions differ.
    """
    made_by = (cluster / "PG_VERSION").read_text(encoding="ascii").strip()
    if made_by != str(programs.major):
        raise FailedPrecondition(
            Reason.CONFIGURATION_INVALID,
            f"{cluster} was made by PostgreSQL {made_by} and {programs.bin_dir} is {programs.major}; "
            f"use programs of version {made_by} (MNEMESH_PG_BIN), or dump and restore",
        )


def _write_password(path: Path, password: str, account: Account) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(password)
    account.give(path)
