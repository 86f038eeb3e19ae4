"""A PostgreSQL of our own: found again whoever died, one whoever started it, closed to everybody else."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from mesh.db import postmaster
from mesh.db.embedded import EmbeddedPostgres, EmbeddedServer, resolve
from mesh.db.pg_programs import account_for, find_programs
from mesh.db.settings import EmbeddedSettings
from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from tests.contract.mesh.waiting import until_now

ROOT = Path(__file__).parents[3]
NOBODY = 65534
QUICK = EmbeddedSettings.from_environ(os.environ, durable=False)  # noqa: TID251 - as in a test run

START = """
import sys
from pathlib import Path
from mesh.db.embedded import EmbeddedPostgres
from mesh.db.settings import EmbeddedSettings
import os

settings = EmbeddedSettings.from_environ(os.environ, durable=False)
server = EmbeddedPostgres(Path(sys.argv[1]), settings, owner_pid=int(sys.argv[2]) and os.getpid()).start()
print(server.pid, server.started, flush=True)
sys.stdin.read()
"""


def starter(directory: Path, *, throw_away: bool = False) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START, str(directory), str(int(throw_away))],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> str:
    """Let a starter end and return what it said."""
    return process.communicate()[0]


def write(server: EmbeddedServer, text: str) -> None:
    with psycopg.connect(server.admin_url) as admin:
        admin.execute("create table if not exists kept (text text)")
        admin.execute("insert into kept values (%s)", (text,))


def read(server: EmbeddedServer) -> list[str]:
    with psycopg.connect(server.admin_url) as admin:
        return [row[0] for row in admin.execute("select text from kept order by text").fetchall()]


def test_new_directory_gets_a_server_with_pgvector_and_the_database(directory: Path) -> None:
    postgres = resolve(f"embedded://{directory}/home")
    server = postgres.start()
    assert server.started
    assert int(server.version.split(".")[0]) >= 15
    assert tuple(int(part) for part in server.vector_version.split(".")[:2]) >= (0, 8)
    with psycopg.connect(server.admin_url) as admin:
        assert admin.info.dbname == "mnemesh"
        durable = [admin.execute(f"show {name}").fetchone() for name in ("fsync", "synchronous_commit")]
        settings = admin.execute("select current_setting('listen_addresses'), current_setting('timezone')").fetchone()
    assert durable == [("on",), ("on",)]
    assert settings == ("127.0.0.1", "UTC")
    postgres.stop()
    assert postmaster.find(directory / "home" / "cluster") is None
    assert postgres.start().port == server.port


def test_password_is_needed_everywhere_and_kept_from_others(home: Path) -> None:
    postgres = EmbeddedPostgres(home, QUICK)
    server = postgres.start()
    for wrong in ("", "password=wrong"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres {wrong}")
    assert "postgresql://" not in repr(server)
    assert stat.S_IMODE((home / "passwords.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "cluster").stat().st_mode) == 0o700
    assert not (home / "initdb.password").exists()
    url = postgres.service_url(server, "engine")
    assert postgres.passwords(["engine"])["engine"] in url
    assert "mnemesh_engine:" in url


def test_second_start_finds_the_first(home: Path) -> None:
    first = EmbeddedPostgres(home, QUICK).start()
    second = EmbeddedPostgres(home, QUICK).start()
    assert (second.pid, second.port, second.admin_url) == (first.pid, first.port, first.admin_url)
    assert (first.started, second.started) == (True, False)


def test_starters_at_the_same_time_end_with_one_server(directory: Path) -> None:
    starters = [starter(directory) for _ in range(3)]
    said = [end(each).split() for each in starters]
    assert len({pid for pid, _ in said}) == 1
    assert sorted(started for _, started in said) == ["False", "False", "True"]


def test_threads_of_one_process_end_with_one_server(home: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        servers = list(threads.map(lambda _: EmbeddedPostgres(home, QUICK).start(), range(3)))
    assert len({server.pid for server in servers}) == 1


def test_server_outlives_its_killed_starter_and_is_found_again(home: Path) -> None:
    process = starter(home)
    assert process.stdout is not None
    pid = int(process.stdout.readline().split()[0])
    server = EmbeddedPostgres(home, QUICK).start()
    write(server, "kept")
    process.send_signal(signal.SIGKILL)
    end(process)
    again = EmbeddedPostgres(home, QUICK).start()
    assert (again.pid, again.started) == (pid, False)
    assert read(again) == ["kept"]


def test_killed_server_is_started_again_with_all_it_had_committed(home: Path) -> None:
    postgres = EmbeddedPostgres(home, replace(QUICK, durable=True))
    server = postgres.start()
    write(server, "committed")
    open_one = psycopg.connect(server.admin_url)
    open_one.execute("insert into kept values ('not committed')")
    os.kill(server.pid, signal.SIGKILL)
    again = postgres.start()
    open_one.close()
    assert again.started
    assert read(again) == ["committed"]


def test_lock_file_whose_process_id_went_to_a_stranger_does_not_stop_a_start(home: Path) -> None:
    postgres = EmbeddedPostgres(home, QUICK)
    server = postgres.start()
    lock_file = home / "cluster" / "postmaster.pid"
    lines = lock_file.read_text().splitlines()
    os.kill(server.pid, signal.SIGKILL)
    until_now(lambda: not postmaster.is_alive(server.pid))
    account = account_for(home / "cluster", QUICK.os_user)
    stranger = subprocess.Popen(["/bin/sleep", "60"], **account.spawn_options())
    lock_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
    assert postmaster.find(home / "cluster") is None
    assert postgres.start().started
    stranger.kill()
    stranger.wait()


def test_port_that_was_taken_meanwhile_is_replaced(home: Path) -> None:
    postgres = EmbeddedPostgres(home, QUICK)
    first = postgres.start()
    postgres.stop()
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", first.port))
        taken.listen()
        second = postgres.start()
    assert second.port != first.port
    assert (home / "port").read_text().strip() == str(second.port)


def test_interrupted_first_start_leaves_nothing_in_the_way(directory: Path) -> None:
    draft = directory / "cluster.new"
    draft.mkdir()
    (draft / "PG_VERSION").write_text("18\n")
    assert EmbeddedPostgres(directory, QUICK).start().started
    assert not draft.exists()


def test_throw_away_server_goes_with_its_owner_however_that_ends(home: Path) -> None:
    process = starter(home, throw_away=True)
    assert process.stdout is not None
    pid = int(process.stdout.readline().split()[0])
    process.send_signal(signal.SIGKILL)
    end(process)
    until_now(lambda: not home.exists())
    assert not postmaster.is_alive(pid)


def test_memory_server_is_removed_when_it_is_stopped() -> None:
    postgres = resolve("memory://", QUICK)
    server = postgres.start()
    assert postgres.data_dir.exists()
    postgres.stop()
    assert not postgres.data_dir.exists()
    assert not postmaster.is_alive(server.pid)


def test_stop_of_what_is_not_running_is_no_error(directory: Path) -> None:
    EmbeddedPostgres(directory, QUICK).stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another user")
def test_directory_that_postgresql_cannot_enter_is_refused_with_a_remedy(directory: Path) -> None:
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(FailedPrecondition) as caught:
        EmbeddedPostgres(closed / "home", QUICK).start()
    assert caught.value.reason == Reason.CONFIGURATION_INVALID
    assert f"may not enter {closed}" in caught.value.message
    assert "MNEMESH_HOME" in caught.value.message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another user")
def test_programs_below_a_closed_directory_are_copied_once_to_where_their_user_can_run_them(directory: Path) -> None:
    installed = find_programs(QUICK.bin_dir).bin_dir
    package = installed.parent.parent
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    for name in (package.name, f"{package.name}.libs"):
        (closed / name).symlink_to(package.with_name(name))
    there = replace(QUICK, bin_dir=closed / package.name / installed.parent.name / installed.name)
    postgres = EmbeddedPostgres(directory / "home", there)
    server = postgres.start()
    write(server, "kept")
    (copy,) = (directory / "home" / "programs").iterdir()
    assert copy.name == server.version
    made = copy.stat().st_ino
    postgres.stop()
    assert read(EmbeddedPostgres(directory / "home", there).start()) == ["kept"]
    assert copy.stat().st_ino == made


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (EmbeddedSettings(bin_dir=Path("/nowhere")), "MNEMESH_PG_BIN"),
        (EmbeddedSettings(os_user="no-such-user"), "MNEMESH_PG_OS_USER"),
    ],
)
def test_wrong_setting_is_named(directory: Path, settings: EmbeddedSettings, says: str) -> None:
    if settings.bin_dir is None and os.geteuid() != 0:
        pytest.skip("only root changes to another user")
    with pytest.raises(FailedPrecondition, match=says):
        EmbeddedPostgres(directory / "home", settings).start()


def test_cluster_of_another_major_version_is_refused_with_a_remedy(home: Path) -> None:
    (home / "cluster" / "PG_VERSION").write_text("9\n")
    with pytest.raises(FailedPrecondition, match="made by PostgreSQL 9"):
        EmbeddedPostgres(home, QUICK).start()


def test_log_of_the_server_holds_no_values_of_rows(home: Path) -> None:
    postgres = EmbeddedPostgres(home, QUICK)
    with psycopg.connect(postgres.start().admin_url, autocommit=True) as admin:
        admin.execute("create table one (word text primary key)")
        for _ in range(2):
            with suppress(psycopg.errors.UniqueViolation):
                admin.execute("insert into one values (%s)", ("a-hidden-word",))
    log = postgres.log_file.read_text()
    assert "duplicate key" in log
    assert "a-hidden-word" not in log
    assert stat.S_IMODE(postgres.log_file.stat().st_mode) == 0o600


def test_directory_that_is_a_file_is_refused(directory: Path) -> None:
    (directory / "file").touch()
    with pytest.raises(FailedPrecondition, match="cannot be used"):
        EmbeddedPostgres(directory / "file" / "home", QUICK).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_ordinary_user_runs_a_server_of_its_own(home: Path) -> None:
    """Forks, because an interpreter in root's home cannot be started by another user; one that runs can become it."""
    for each in (home, *home.iterdir()):
        os.chown(each, NOBODY, NOBODY)
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            postgres = EmbeddedPostgres(home, QUICK)
            server = postgres.start()
            write(server, "by an ordinary user")
            said = f"{server.started} {read(server)} {(home / 'cluster').stat().st_uid}"
            postgres.stop()
            os.write(sender, said.encode())
        except BaseException as error:  # noqa: BLE001 - told to the parent, which fails
            os.write(sender, repr(error).encode())
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as answers:
        assert answers.read() == f"True ['by an ordinary user'] {NOBODY}"
    os.waitpid(child, 0)
    # Root starts what belongs to somebody else as that user.
    assert read(EmbeddedPostgres(home, QUICK).start()) == ["by an ordinary user"]
