"""Passwords are made once, kept, and readable by their owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

from mesh.db.secrets_file import passwords


def test_password_is_made_once_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "passwords.json"
    first = passwords(file, ["postgres"])
    second = passwords(file, ["postgres", "engine"])
    assert second["postgres"] == first["postgres"]
    assert len(second["engine"]) >= 32
    assert second["engine"] != second["postgres"]


def test_file_is_for_its_owner_alone_and_leaves_no_draft(tmp_path: Path) -> None:
    file = tmp_path / "passwords.json"
    (tmp_path / "passwords.json.new").write_text("left by a killed process")
    passwords(file, ["a"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["passwords.json"]
