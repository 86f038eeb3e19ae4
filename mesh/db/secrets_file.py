"""The passwords of a cluster of our own: made once, kept in one file that only its owner may read."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

PASSWORD_BYTES = 24
"""192 random bits."""


def passwords(path: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the password of each name, making those that are missing. The caller holds the lock of the cluster."""
    known: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    missing = [name for name in names if name not in known]
    if missing:
        known.update((name, secrets.token_urlsafe(PASSWORD_BYTES)) for name in missing)
        _replace(path, json.dumps(known, indent=1, sort_keys=True))
    return {name: known[name] for name in names}


def _replace(path: Path, text: str) -> None:
    """Write the file so that there is never a moment with half of it or with other rights."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
