"""What is known to be migrated: in any doubt the answer is no."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mesh.cli import schema_state
from mesh.cli.database import DatabaseInfo
from mesh.cli.home import Home, prepare_home
from mesh.cli.schema_state import is_up_to_date, note_up_to_date, schema_of
from mesh.cli.services import SERVICES, Service
from mesh.db.revisions import head

INFO = DatabaseInfo("postgresql://postgres:x@127.0.0.1:1/mnemesh", "18.4", "0.8.5", "", port=1, pid=1)
PASSWORDS = {service.name: "x" for service in SERVICES}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    prepare_home(home)
    return home


def current(url: str, service: Service) -> str:
    return head(schema_of(service).migrations_dir)


def test_a_home_that_was_never_migrated_is_not_up_to_date(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_state, "_revision", current)
    assert not is_up_to_date(home, INFO, SERVICES, PASSWORDS)


def test_what_was_migrated_by_this_code_is_up_to_date(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_state, "_revision", current)
    note_up_to_date(home, SERVICES)
    assert is_up_to_date(home, INFO, SERVICES, PASSWORDS)


def test_a_database_that_is_behind_is_not_up_to_date(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    note_up_to_date(home, SERVICES)
    monkeypatch.setattr(schema_state, "_revision", lambda url, service: "0000")
    assert not is_up_to_date(home, INFO, SERVICES, PASSWORDS)


def test_a_database_that_lets_nobody_in_is_not_up_to_date(home: Home) -> None:
    note_up_to_date(home, SERVICES)
    assert not is_up_to_date(home, INFO, SERVICES, PASSWORDS)


def test_code_that_prepares_something_else_is_not_up_to_date(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_state, "_revision", current)
    note_up_to_date(home, SERVICES)
    changed = {service.name: schema_of(service) for service in SERVICES}
    changed["gateway"] = replace(changed["gateway"], extra_sql=("select 1",))
    monkeypatch.setattr(schema_state, "schema_of", lambda service: changed[service.name])
    assert not is_up_to_date(home, INFO, SERVICES, PASSWORDS)
