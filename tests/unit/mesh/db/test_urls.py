"""A URL changes its role or its database and nothing else."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from mesh.db.embedded import is_embedded, resolve
from mesh.db.urls import database_url, role_url

URLS = [
    "postgresql://admin:old@db.example:6432/first?sslmode=require",
    "host=db.example port=6432 user=admin password=old dbname=first sslmode=require",
]


@pytest.mark.parametrize("url", URLS)
def test_role_and_password_are_replaced_whatever_they_hold(url: str) -> None:
    parts = conninfo_to_dict(role_url(url, "mnemesh_engine", "p@ss/w:rd %"))
    assert (parts["user"], parts["password"]) == ("mnemesh_engine", "p@ss/w:rd %")
    assert (parts["host"], parts["port"], parts["dbname"], parts["sslmode"]) == (
        "db.example",
        "6432",
        "first",
        "require",
    )


@pytest.mark.parametrize("url", URLS)
def test_database_is_replaced(url: str) -> None:
    parts = conninfo_to_dict(database_url(url, "second"))
    assert (parts["dbname"], parts["user"], parts["sslmode"]) == ("second", "admin", "require")


def test_embedded_url_names_its_directory() -> None:
    assert str(resolve("embedded:///var/lib/with%20space/pg").data_dir) == "/var/lib/with space/pg"


@pytest.mark.parametrize("url", ["embedded://relative/dir", "embedded://", "postgresql://x/y", ""])
def test_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="embedded"):
        resolve(url)


def test_embedded_urls_are_told_apart() -> None:
    assert is_embedded("embedded:///x")
    assert is_embedded("memory://")
    assert not is_embedded("postgresql://x/y")
