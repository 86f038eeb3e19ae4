"""Which Mnemesh this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

OLDEST_PYTHON = (3, 11)


def installed_version() -> str:
    """Return the version of this installation."""
    try:
        return version("mnemesh")
    except PackageNotFoundError:
        return "0+source"
