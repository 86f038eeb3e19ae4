"""Settings of the database keep secrets to themselves and refuse what cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest

from mesh.db.settings import DatabaseSettings, EmbeddedSettings


def test_url_is_not_shown() -> None:
    assert "secret" not in repr(DatabaseSettings("postgresql://a:secret@host/db"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"pool_min": 2, "pool_max": 1},
        {"pool_min": -1},
        {"pool_max": 0},
        {"max_waiting": -1},
        {"acquire_timeout_s": 0.0},
        {"statement_timeout_s": -1.0},
        {"connect_timeout_s": 0},
    ],
)
def test_bounds_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        DatabaseSettings("", **wrong)


def test_environment_says_which_postgresql_to_run_and_as_whom() -> None:
    settings = EmbeddedSettings.from_environ({"MNEMESH_PG_BIN": "/opt/pg/bin", "MNEMESH_PG_OS_USER": "pg"})
    assert (settings.bin_dir, settings.os_user, settings.durable) == (Path("/opt/pg/bin"), "pg", True)


def test_empty_environment_means_the_wheel_and_durable() -> None:
    assert EmbeddedSettings.from_environ({}) == EmbeddedSettings()
