"""The history of a service's schema as its files tell it, and whether a database has come far enough.

A history is the folder `<service>/migrations/versions` with files `NNNN_pre_name.py` and `NNNN_post_name.py`. The
number is the Alembic revision, each follows the one before it. A *pre* revision suits the code that is still running,
so it is applied before new code starts; a *post* revision removes what only old code needed, so it is applied once all
of that is gone. Therefore a server needs every revision up to the last *pre*, and serves on a schema that is further.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mesh.db.errors import sqlstate_of
from mesh.db.pool import Database
from mesh.db.queries import load, plain_schema
from mesh.kernel.errors import ErrorDetails, FailedPrecondition, MeshError
from mesh.kernel.reasons import Reason

_FILE = re.compile(r"(?P<number>\d{4})_(?P<stage>pre|post)_[a-z0-9_]+\.py")
_QUERIES = load(__name__, "revisions.sql")

_NO_TABLE_STATES = frozenset({"3F000", "42501", "42P01"})
"""No schema, no right to it, no version table: nothing was migrated yet."""


@dataclass(frozen=True, slots=True)
class Revision:
    """One file of a history.

    Args:
        number: four digits; the Alembic revision.
        stage: whether it goes before or after the code that it belongs to.
    """

    number: str
    stage: Literal["pre", "post"]


@dataclass(frozen=True, slots=True)
class _Version:
    version_num: str


def history(migrations_dir: Path) -> list[Revision]:
    """Return the revisions of a service in order.

    Raises:
        ValueError: there are none, a file has another name, or two have one number.
    """
    files = sorted(path.name for path in (migrations_dir / "versions").glob("*.py") if path.name != "__init__.py")
    revisions = [_revision(name) for name in files]
    numbers = [revision.number for revision in revisions]
    if not revisions:
        raise ValueError(f"{migrations_dir} has no revisions")
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{migrations_dir} has two revisions with one number")
    return revisions


def head(migrations_dir: Path) -> str:
    """Return the number of the last revision."""
    return history(migrations_dir)[-1].number


def last_pre(migrations_dir: Path) -> str:
    """Return the number of the last *pre* revision, the one that a server needs; the first one when all are *post*."""
    revisions = history(migrations_dir)
    numbers = [revision.number for revision in revisions if revision.stage == "pre"]
    return numbers[-1] if numbers else revisions[0].number


async def check_current(db: Database, schema: str, migrations_dir: Path) -> None:
    """Refuse to serve on a schema that lacks what this code needs.

    Raises:
        FailedPrecondition: it is behind (SCHEMA_BEHIND); the message names the command that helps.
        Unavailable: the database cannot be reached.
    """
    needed = last_pre(migrations_dir)
    current = await _current(db, schema)
    if current is None or current < needed:
        raise FailedPrecondition(
            Reason.SCHEMA_BEHIND,
            f"The schema {schema} is at revision {current or 'none'} and this server needs {needed}; "
            f"run the migrations first: mnemesh migrate",
            ErrorDetails(metadata={"schema": schema, "current": current or "none", "needed": needed}),
        )


async def _current(db: Database, schema: str) -> str | None:
    query = _QUERIES.in_schema(plain_schema(schema)).get("current")
    try:
        async with db.sweep() as tx:
            row = await tx.one(query, into=_Version)
    except MeshError as error:
        if sqlstate_of(error) in _NO_TABLE_STATES:
            return None
        raise
    return row.version_num if row else None


def _revision(name: str) -> Revision:
    match = _FILE.fullmatch(name)
    if match is None:
        raise ValueError(f"{name} is not named NNNN_pre_name.py or NNNN_post_name.py")
    return Revision(match["number"], "pre" if match["stage"] == "pre" else "post")
