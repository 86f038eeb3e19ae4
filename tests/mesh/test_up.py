"""`mnemesh up` as a person uses it: talk, pull the plug, start again, and everything is remembered."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mesh.cli.banner import Banner, curl_line
from mesh.cli.conversation import Conversation, choose_avatar, list_avatars
from mesh.cli.http_client import MeshClient, Refused
from mesh.cli.ports import free_port, is_free
from mesh.cli.problems import ExitCode
from mesh.cli.turns import SilentView, with_patience
from mesh.testing.running_mesh import RunningMesh

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180), pytest.mark.xdist_group("running-mesh")]

TOLD = (
    "Hi! My name is Olena.",
    "I moved to Lviv in March with my dog Biscuit.",
    "I'm allergic to peanuts.",
)


@pytest.fixture(scope="module")
def mesh() -> Iterator[RunningMesh]:
    with RunningMesh() as running:
        yield running


@pytest.fixture
def client(mesh: RunningMesh) -> Iterator[MeshClient]:
    with mesh.client(str(uuid.uuid4())) as caller:
        yield caller


def conversation(client: MeshClient) -> Conversation:
    return Conversation(client, choose_avatar(with_patience(lambda: list_avatars(client)), "mia"))


def eventually(look: Callable[[], Any], timeout_s: float = 20.0) -> Any:
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


def run(mesh: RunningMesh, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mesh.cli", *arguments],
        env=mesh.environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def tell_everything(client: MeshClient) -> None:
    talk = conversation(client)
    for text in TOLD:
        assert talk.say(text, SilentView()).text
    eventually(lambda: len(talk.facts()) >= len(TOLD))


def ask_in_a_new_session(client: MeshClient) -> str:
    return conversation(client).say("What am I allergic to?", SilentView()).text


def test_what_was_told_in_one_session_is_known_in_the_next(client: MeshClient) -> None:
    tell_everything(client)
    assert "peanut" in ask_in_a_new_session(client).lower()


def test_it_is_still_known_after_the_plug_was_pulled(mesh: RunningMesh, client: MeshClient) -> None:
    tell_everything(client)
    before = conversation(client).facts()
    mesh.kill_everything()
    mesh.start()
    assert "peanut" in ask_in_a_new_session(client).lower()
    assert {fact["id"] for fact in before} <= {fact["id"] for fact in conversation(client).facts()}


def test_it_starts_again_at_once_when_only_the_command_was_killed(mesh: RunningMesh, client: MeshClient) -> None:
    before = mesh.pids()
    mesh.kill_command()
    mesh.start()
    after = mesh.pids()
    assert {name for name in after if after[name] == before[name]} == {"postgres"}
    eventually(lambda: not any(is_running(pid) for name, pid in before.items() if name != "postgres"))
    assert ask_in_a_new_session(client)


def test_two_users_and_two_tenants_never_see_each_others(mesh: RunningMesh) -> None:
    olena, petro = str(uuid.uuid4()), str(uuid.uuid4())
    with mesh.client(olena) as first, mesh.client(petro) as second:
        tell_everything(first)
        session = conversation(first).session_id
        assert conversation(second).facts() == []
        assert "peanut" not in ask_in_a_new_session(second).lower()
        with pytest.raises(Refused) as caught:
            second.get(f"/v1/sessions/{session}")
        assert caught.value.reason == "SESSION_NOT_FOUND"
    made = run(mesh, "keys", "create", "acme", "--tenant", "acme", "--scope", "*", "--for-user", olena, "--json")
    assert made.returncode == ExitCode.OK, made.stderr
    with mesh.client(api_key=json.loads(made.stdout)["secret"]) as acme:
        assert conversation(acme).facts() == []
        assert "peanut" not in ask_in_a_new_session(acme).lower()


def test_the_curl_line_of_the_banner_works_as_it_is(mesh: RunningMesh, client: MeshClient) -> None:
    avatar = choose_avatar(list_avatars(client), "mia")
    line = curl_line(Banner(mesh.url, "", "", "", avatar.uid, needs_key=False))
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=30, check=True)
    events = re.findall(r"^event: (\w+)$", done.stdout, re.MULTILINE)
    assert events[0] == "session_start"
    assert events[-1] == "committed"
    assert "delta" in events


def test_chat_reads_a_pipe_and_shows_what_was_learned(mesh: RunningMesh) -> None:
    user = str(uuid.uuid4())
    lines = "I live in Lviv.\n/new\nWhere do I live?\n/memory\n/why\n/forget home_city\n/memory\n/quit\n"
    done = run(mesh, "chat", "--user", user, stdin=lines)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "\x1b" not in done.stdout
    assert "learned: home_city = Lviv" in done.stdout
    assert re.search(r"from: .*Lviv", done.stdout)
    assert "forgot: home_city = Lviv" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].strip() == "nothing is remembered yet"


def test_a_second_mesh_on_the_home_is_refused_in_one_sentence(mesh: RunningMesh) -> None:
    done = run(mesh, "up", "--http-port", str(free_port()))
    assert done.returncode == ExitCode.ENVIRONMENT
    assert "a mesh already runs on" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_doctor_finds_nothing_missing(mesh: RunningMesh) -> None:
    done = run(mesh, "doctor", "--json")
    findings = json.loads(done.stdout)
    assert done.returncode == ExitCode.OK, findings
    assert {f"schema {name}" for name in ("gateway", "engine", "memory")} <= {
        finding["subject"] for finding in findings["findings"] if finding["verdict"] == "fine"
    }


def test_a_killed_server_comes_back_and_the_answers_go_on(mesh: RunningMesh, client: MeshClient) -> None:
    for name in ("gateway", "memory", "engine-worker", "postgres"):
        before = mesh.pids()[name]
        os.kill(before, signal.SIGKILL)
        eventually(lambda name=name, before=before: mesh.pids()[name] != before)
    assert ask_in_a_new_session(client)


def test_it_stops_cleanly_on_ctrl_c_and_leaves_nothing_behind() -> None:
    with RunningMesh() as mesh:
        pids = mesh.pids()
        port = int(mesh.url.rpartition(":")[2])
        assert mesh.stop() == ExitCode.OK
        assert not any(is_running(pid) for pid in pids.values())
        assert not (mesh.home / "run" / "state.json").exists()
        assert is_free(port)


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").exists() and bool(Path(f"/proc/{pid}/cmdline").read_bytes())
