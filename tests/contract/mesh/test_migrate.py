"""Migrations create what is missing, once, whoever else does the same at the same time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from mesh.db import migrate as migrate_module
from mesh.db.embedded import EmbeddedPostgres
from mesh.db.migrate import LOCK_KEY, ServiceSchema, check_current, head, migrate
from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings
from mesh.db.urls import database_url, role_url
from mesh.kernel.errors import FailedPrecondition, Unavailable
from mesh.kernel.ids import new_id
from mesh.kernel.reasons import Reason
from mesh.testing.postgres import Cluster
from tests.contract.mesh.schemas import OTHER, PROBE

PASSWORDS = {"probe": "test-probe", "other": "test-other"}
MakeDatabase = Callable[[], str]


@pytest.fixture
def new_database(postgres_cluster: Cluster) -> Iterator[MakeDatabase]:
    """Return a function that makes an empty database and returns its administrator's URL."""
    names: list[str] = []

    def make() -> str:
        names.append(f"mnemesh_empty_{new_id()[:8]}")
        with psycopg.connect(postgres_cluster.admin_url, autocommit=True) as admin:
            admin.execute(sql.SQL("create database {}").format(sql.Identifier(names[-1])))
        return database_url(postgres_cluster.admin_url, names[-1])

    yield make
    with psycopg.connect(postgres_cluster.admin_url, autocommit=True) as admin:
        for name in names:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def revision(url: str, schema: str = "probe") -> str | None:
    with psycopg.connect(url) as admin:
        row = admin.execute("select to_regclass(%s)", (f"{schema}.alembic_version",)).fetchone()
        if row == (None,):
            return None
        row = admin.execute(
            sql.SQL("select version_num from {}.alembic_version").format(sql.Identifier(schema))
        ).fetchone()
    return None if row is None else str(row[0])


def scratch(tmp_path: Path, files: dict[str, str]) -> ServiceSchema:
    """Return the other service with revisions of the test's own."""
    versions = tmp_path / "migrations" / "versions"
    shutil.copytree(OTHER.migrations_dir, tmp_path / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    for name, body in files.items():
        (versions / name).write_text(body)
    return replace(OTHER, migrations_dir=tmp_path / "migrations")


def step(number: int, statement: str, down: int | None = None) -> str:
    before = number - 1 if down is None else down
    return f"""
from mesh.db.ddl import create_index_concurrently, run

revision = "{number:04}"
down_revision = "{before:04}"


def upgrade():
    {statement}
"""


def test_all_revisions_are_applied_and_doing_it_again_changes_nothing(new_database: MakeDatabase) -> None:
    url = new_database()
    for _ in range(2):
        migrate(url, [PROBE, OTHER], passwords=PASSWORDS)
        assert (revision(url), revision(url, "other")) == ("0003", "0001")
    with psycopg.connect(url) as admin:
        valid = admin.execute(
            "select indisvalid from pg_index where indexrelid = 'probe.things_by_name'::regclass"
        ).fetchone()
        owner = admin.execute(
            "select tableowner from pg_tables where schemaname = 'probe' and tablename = 'things'"
        ).fetchone()
    assert (valid, owner) == ((True,), ("mnemesh_probe_owner",))


MIGRATE = """
import sys
from mesh.db.migrate import migrate
from tests.contract.mesh.schemas import OTHER, PROBE

migrate(sys.argv[1], [PROBE, OTHER], passwords={"probe": "test-probe", "other": "test-other"})
"""


def test_two_migrators_of_one_database_do_the_work_once(new_database: MakeDatabase) -> None:
    url = new_database()
    command = [sys.executable, "-c", MIGRATE, url]
    migrators = [
        subprocess.Popen(command, cwd=Path(__file__).parents[3], stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [migrator.communicate()[1] for migrator in migrators]
    assert [migrator.returncode for migrator in migrators] == [0, 0, 0], said
    assert (revision(url), revision(url, "other")) == ("0003", "0001")


def test_migrator_waits_for_another_and_begins_nothing_meanwhile(
    new_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    looks = 0
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("select pg_advisory_lock(%s)", (LOCK_KEY,))

        def look(seconds: float) -> None:
            nonlocal looks
            looks += 1
            assert revision(url, "other") is None
            if looks == 3:
                other.execute("select pg_advisory_unlock(%s)", (LOCK_KEY,))

        monkeypatch.setattr(migrate_module.time, "sleep", look)
        migrate(url, [OTHER], passwords=PASSWORDS)
    assert looks == 3
    assert revision(url, "other") == "0001"


def test_databases_of_one_server_are_migrated_at_the_same_time(spare_server: EmbeddedPostgres) -> None:
    first = spare_server.start().admin_url
    urls = [database_url(first, name) for name in ("a", "b", "c")]
    with psycopg.connect(first, autocommit=True) as admin:
        for name in ("a", "b", "c"):
            admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    together = threading.Barrier(3)

    def run(url: str) -> None:
        together.wait()
        migrate(url, [PROBE, OTHER], passwords=PASSWORDS)

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(run, urls))
    assert [revision(url) for url in urls] == ["0003"] * 3


def test_administrator_need_not_be_a_superuser(spare_server: EmbeddedPostgres) -> None:
    url = spare_server.start().admin_url
    service = replace(OTHER, name="plain")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("create role plain login createrole createdb password 'plain'")
        admin.execute("create database plain owner plain")
    plain = role_url(database_url(url, "plain"), "plain", "plain")
    with pytest.raises(FailedPrecondition, match="create extension vector"):
        migrate(plain, [service], passwords={"plain": "x"})
    with psycopg.connect(database_url(url, "plain"), autocommit=True) as admin:
        admin.execute("create extension vector schema public")
    for _ in range(2):
        migrate(plain, [service], passwords={"plain": "x"})
    with psycopg.connect(role_url(plain, "mnemesh_plain", "x")) as runtime:
        runtime.execute("set app.tenant_id to 'acme'")
        runtime.execute("insert into other.notes values ('acme')")


async def test_new_code_needs_pre_revisions_alone(new_database: MakeDatabase) -> None:
    url = new_database()
    migrate(url, [PROBE], passwords=PASSWORDS, stage="pre")
    assert revision(url) == "0002"
    db = Database(DatabaseSettings(role_url(url, "mnemesh_probe", "test-probe")), application_name="probe")
    await check_current(db, "probe", PROBE.migrations_dir)
    migrate(url, [PROBE], stage="post")
    assert revision(url) == head(PROBE.migrations_dir) == "0003"
    await check_current(db, "probe", PROBE.migrations_dir)
    migrate(url, [PROBE], stage="pre")
    assert revision(url) == "0003"
    await db.close()


async def test_schema_that_is_behind_is_refused_and_one_that_is_ahead_is_served(
    new_database: MakeDatabase, tmp_path: Path
) -> None:
    url = new_database()
    db = Database(DatabaseSettings(role_url(url, "mnemesh_other", "test-other")), application_name="other")
    # Roles belong to the server: the one of the other service exists although its schema does not.
    migrate(new_database(), [OTHER], passwords=PASSWORDS)
    newer = scratch(tmp_path, {"0002_pre_more.py": step(2, "run('alter table other.notes add column more text')")})
    with pytest.raises(FailedPrecondition) as nothing:
        await check_current(db, "other", OTHER.migrations_dir)
    migrate(url, [OTHER], passwords=PASSWORDS)
    with pytest.raises(FailedPrecondition) as behind:
        await check_current(db, "other", newer.migrations_dir)
    migrate(url, [newer])
    await check_current(db, "other", OTHER.migrations_dir)
    migrate(url, [OTHER])
    await db.close()
    assert revision(url, "other") == "0002"
    for caught in (nothing, behind):
        assert caught.value.reason == Reason.SCHEMA_BEHIND
        assert "mnemesh migrate" in caught.value.message
    assert behind.value.details.metadata == {"schema": "other", "current": "0001", "needed": "0002"}


def test_revision_that_fails_keeps_nothing_and_tells_the_operator_why(
    new_database: MakeDatabase, tmp_path: Path
) -> None:
    url = new_database()
    broken = scratch(
        tmp_path, {"0002_pre_bad.py": step(2, "run('create table other.half (a int); select no_such_thing')")}
    )
    with pytest.raises(FailedPrecondition, match=r"schema other.*no_such_thing"):
        migrate(url, [broken], passwords=PASSWORDS)
    assert revision(url, "other") == "0001"
    with psycopg.connect(url) as admin:
        assert admin.execute("select to_regclass('other.half')").fetchone() == (None,)


def test_index_that_was_left_half_built_is_built_again(new_database: MakeDatabase, tmp_path: Path) -> None:
    url = new_database()
    migrate(url, [OTHER], passwords=PASSWORDS)
    index = "create_index_concurrently('other', 'notes_again', 'on other.notes (tenant_id)')"
    service = scratch(tmp_path, {"0002_pre_index.py": step(2, index)})
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("create index notes_again on other.notes (tenant_id)")
        admin.execute("update pg_index set indisvalid = false where indexrelid = 'other.notes_again'::regclass")
        migrate(url, [service])
        valid = admin.execute("select indisvalid from pg_index where indexrelid = 'other.notes_again'::regclass")
        assert valid.fetchone() == (True,)


def test_table_that_is_in_use_is_waited_for_in_short_tries(
    new_database: MakeDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    migrate(url, [OTHER], passwords=PASSWORDS)
    service = scratch(tmp_path, {"0002_pre_more.py": step(2, "run('alter table other.notes add column more text')")})
    monkeypatch.setattr(migrate_module, "LOCK_TIMEOUT", "20ms")
    with psycopg.connect(url) as user:
        user.execute("select count(*) from other.notes")
        pauses: list[float] = []

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 2:
                user.rollback()

        monkeypatch.setattr(migrate_module.time, "sleep", pause)
        migrate(url, [service])
    assert len(pauses) == 2
    assert revision(url, "other") == "0002"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"0003_pre_gap.py": step(4, "pass", down=1)}, "do not follow"),
        ({"0002_pre_a.py": step(2, "pass"), "0003_pre_b.py": step(3, "pass", down=1)}, "heads|follow"),
    ],
)
def test_history_that_does_not_follow_its_numbers_is_refused(
    new_database: MakeDatabase, tmp_path: Path, files: dict[str, str], problem: str
) -> None:
    with pytest.raises(FailedPrecondition, match=problem):
        migrate(new_database(), [scratch(tmp_path, files)], passwords=PASSWORDS)


def test_role_above_row_security_is_refused(spare_server: EmbeddedPostgres) -> None:
    url = spare_server.start().admin_url
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("create role mnemesh_above login bypassrls")
    with pytest.raises(FailedPrecondition, match="bypasses row-level security"):
        migrate(url, [replace(OTHER, name="above")])


def test_password_never_reaches_the_log_of_the_server(spare_server: EmbeddedPostgres) -> None:
    url = spare_server.start().admin_url
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("alter role postgres set log_statement to 'all'")
    migrate(url, [OTHER], passwords={"other": "a-hidden-word"})
    log = spare_server.log_file.read_text()
    assert "alter role" in log
    assert "a-hidden-word" not in log
    with psycopg.connect(role_url(url, "mnemesh_other", "a-hidden-word")):
        pass


def test_lock_is_free_again_after_a_failure(new_database: MakeDatabase, tmp_path: Path) -> None:
    url = new_database()
    broken = scratch(tmp_path, {"0002_pre_bad.py": step(2, "run('select no_such_thing')")})
    with pytest.raises(FailedPrecondition):
        migrate(url, [broken], passwords=PASSWORDS)
    with psycopg.connect(url) as admin:
        assert admin.execute("select pg_try_advisory_lock(%s)", (LOCK_KEY,)).fetchone() == (True,)


def test_server_that_is_away_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        migrate("postgresql://postgres@127.0.0.1:1/x", [OTHER])
