"""The gateway as a process: migrations, start, stop, and what it says when it cannot start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from gateway.schema import SCHEMA
from mesh.db.urls import role_url
from mesh.testing.postgres import Cluster, MeshDatabase

KEY = "identity-key-of-the-gateway-process-tests"
OTHERS_TABLE = """
create schema ml;
create table ml.avatars (
    uid uuid primary key, avatar_id text not null, creator_id text not null, name text, system_prompt text,
    lora_adapter_path text, lora_quality_passed bool, collection_name text, voice_clone_path text,
    voice_clone_text text, description text, tags text[], preview_url text, elevenlabs_voice_id text,
    customization jsonb, date timestamptz, updated_at timestamptz, extra int default 7
);
"""


@pytest.fixture
def empty_database(postgres_cluster: Cluster) -> Iterator[MeshDatabase]:
    """A database in which nothing was migrated."""
    database = postgres_cluster.clone([])
    yield database
    postgres_cluster.drop(database)


def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gateway", *arguments],
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MNEMESH_")}  # noqa: TID251
    return {**kept, "PYTHONPATH": os.pathsep.join(sys.path), **settings}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_migrating_can_be_repeated_and_seeds_the_examples(empty_database: MeshDatabase) -> None:
    settings = {
        "MNEMESH_ADMIN_DATABASE_URL": empty_database.admin_url,
        "MNEMESH_GATEWAY_DB_PASSWORD": "test-gateway",
    }
    for _ in range(2):
        done = run("migrate", "--seed-examples", **settings)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with psycopg.connect(empty_database.admin_url) as connection:
        names = connection.execute("select name from ml.avatars order by name").fetchall()
        columns = connection.execute(
            "select count(*) from information_schema.columns where table_schema = 'ml' and table_name = 'avatars'"
        ).fetchone()
    assert names == [("Mia",), ("Ostap",)]
    assert columns == (17,)
    with psycopg.connect(role_url(empty_database.admin_url, SCHEMA.runtime_role, "test-gateway")) as connection:
        assert connection.execute("select count(*) from ml.avatars").fetchone() == (2,)


def test_an_avatars_table_of_others_is_left_as_it_is_and_can_be_read(empty_database: MeshDatabase) -> None:
    with psycopg.connect(empty_database.admin_url, autocommit=True) as connection:
        connection.execute(OTHERS_TABLE.encode())
        connection.execute("insert into ml.avatars (uid, avatar_id, creator_id) values (gen_random_uuid(), 'a', 'c')")
    assert run("migrate", MNEMESH_ADMIN_DATABASE_URL=empty_database.admin_url).returncode == 0
    with psycopg.connect(empty_database.admin_url) as connection:
        assert connection.execute("select avatar_id, extra from ml.avatars").fetchall() == [("a", 7)]


def test_a_process_serves_until_it_is_told_to_stop(shared_gateway_database: MeshDatabase) -> None:
    port = free_port()
    settings = {
        "MNEMESH_DATABASE_URL": shared_gateway_database.urls["gateway"],
        "MNEMESH_IDENTITY_KEYS": KEY,
        "MNEMESH_HTTP_PORT": str(port),
        "MNEMESH_GATEWAY_LISTEN": "127.0.0.1:0",
        "MNEMESH_ENGINE_TARGET": "127.0.0.1:1",
        "MNEMESH_MEMORY_TARGET": "127.0.0.1:1",
        "MNEMESH_MODEL_PROVIDER": "builtin",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway", "serve"], env=environment(**settings), stderr=subprocess.PIPE, text=True
    )
    try:
        assert answers(port)
        assert httpx.get(f"http://127.0.0.1:{port}/v1/avatars").status_code == 200
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "MNEMESH_DATABASE_URL must be set"),
        ({"MNEMESH_DATABASE_URL": "postgresql://x", "MNEMESH_IDENTITY_KEYS": "short"}, "identity keys"),
        (
            {"MNEMESH_DATABASE_URL": "postgresql://x", "MNEMESH_IDENTITY_KEYS": KEY, "MNEMESH_HTTP_HOST": "0.0.0.0"},
            "loopback",
        ),
        ({"MNEMESH_DATABASE_URL": "x", "MNEMESH_IDENTITY_KEYS": KEY, "MNEMESH_AUTH_MODE": "open"}, "MNEMESH_AUTH_MODE"),
        ({"MNEMESH_DATABASE_URL": "x", "MNEMESH_IDENTITY_KEYS": KEY, "MNEMESH_HTPP_PORT": "1"}, "did you mean"),
    ],
)
def test_a_process_that_cannot_start_says_what_to_set(settings: dict[str, str], words: str) -> None:
    done = run("serve", **settings)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert KEY not in done.stderr


def test_a_schema_that_is_behind_is_refused(postgres_cluster: Cluster, empty_database: MeshDatabase) -> None:
    url = role_url(empty_database.admin_url, SCHEMA.runtime_role, "test-gateway")
    done = run(
        "serve",
        MNEMESH_DATABASE_URL=url,
        MNEMESH_IDENTITY_KEYS=KEY,
        MNEMESH_HTTP_PORT="0",
        MNEMESH_GATEWAY_LISTEN="127.0.0.1:0",
    )
    assert done.returncode == 1
    assert "mnemesh migrate" in done.stderr


def answers(port: int) -> bool:
    for _ in range(400):
        try:
            return httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        except httpx.TransportError:
            time.sleep(0.05)
    return False
