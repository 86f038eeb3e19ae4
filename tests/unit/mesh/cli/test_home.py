"""The home: what others may see of it, that secrets are made once, and one mesh at a time."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mesh.cli.home import (
    FOLDERS,
    Home,
    default_home,
    load_credentials,
    locked,
    prepare_home,
    read_state,
    require_room,
)
from mesh.cli.problems import ExitCode, Problem
from mesh.cli.settings import CliSettings, inherited_environment


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    prepare_home(home)
    return home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_has_its_folder(home: Home) -> None:
    assert {path.name for path in home.root.iterdir()} == set(FOLDERS)


def test_others_may_pass_through_but_not_look(home: Home) -> None:
    assert mode(home.root) & 0o066 == 0
    assert mode(home.root) & 0o011 == 0o011


def test_secrets_are_made_once_and_readable_by_their_owner_alone(home: Home) -> None:
    old_mask = os.umask(0)
    try:
        first = load_credentials(home, ("gateway", "engine"))
    finally:
        os.umask(old_mask)
    assert mode(home.credentials) == 0o600
    assert load_credentials(home, ("gateway", "engine")) == first
    assert len(set(first.role_passwords.values())) == 2
    assert all(len(key) >= 32 for key in first.identity_keys)


def test_a_new_server_gets_a_password_and_the_others_keep_theirs(home: Home) -> None:
    first = load_credentials(home, ("gateway",))
    second = load_credentials(home, ("gateway", "memory"))
    assert second.role_passwords["gateway"] == first.role_passwords["gateway"]
    assert second.identity_keys == first.identity_keys
    assert "memory" in second.role_passwords


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"role_passwords": {}}', '{"role_passwords": [], "identity_keys": []}']
)
def test_a_damaged_file_is_said_to_be_damaged_and_left_alone(home: Home, text: str) -> None:
    home.credentials.write_text(text)
    with pytest.raises(Problem, match="is damaged"):
        load_credentials(home)
    assert home.credentials.read_text() == text


def test_a_file_where_the_home_should_be_is_one_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(Problem) as caught:
        prepare_home(Home(blocked / "home"))
    assert caught.value.exit_code == ExitCode.ENVIRONMENT
    assert "MNEMESH_HOME" in caught.value.remedy


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(Problem, match="cannot be written by this user"):
        prepare_home(Home(closed / "home"))


def test_a_full_disk_is_one_sentence(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.cli.home.LEAST_FREE_BYTES", 1 << 60)
    with pytest.raises(Problem, match="MB left"):
        require_room(home)


def test_a_second_mesh_on_one_home_is_refused_and_the_first_is_named(home: Home) -> None:
    with locked(home), pytest.raises(Problem, match=f"process {os.getpid()}"), locked(home):
        pass


def test_the_lock_ends_with_its_process_however_that_ends(home: Home) -> None:
    holder = (
        "import sys, pathlib; from mesh.cli.home import Home, locked\n"
        "with locked(Home(pathlib.Path(sys.argv[1]))): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(home.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**inherited_environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(Problem), locked(home):
            pass
        process.kill()
        process.wait()
        with locked(home):
            pass


def test_the_state_of_a_mesh_that_has_ended_is_no_state(home: Home) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    home.state.write_text(json.dumps({"pids": {"up": process.pid}, "urls": {}}))
    assert read_state(home) is None
    home.state.write_text(json.dumps({"pids": {"up": os.getpid()}, "urls": {"http": "x"}}))
    state = read_state(home)
    assert state is not None
    assert state["urls"] == {"http": "x"}


def test_the_default_follows_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_home(CliSettings(data_home=str(tmp_path))) == tmp_path / "mnemesh"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_home(CliSettings()) == Path("/var/lib/mnemesh")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_home(CliSettings()) == Path.home() / ".local" / "share" / "mnemesh"
