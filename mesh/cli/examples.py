"""The example avatars, which the gateway's package knows how to insert."""

from __future__ import annotations

from pkgutil import resolve_name

from mesh.cli.database import DatabaseInfo, explained

SEED = "gateway.example_avatars:seed"


def seed_examples(info: DatabaseInfo) -> None:
    """Insert the example avatars that are missing.

    Raises:
        Problem: the database does not allow it.
    """
    with explained():
        resolve_name(SEED)(info.admin_url)
