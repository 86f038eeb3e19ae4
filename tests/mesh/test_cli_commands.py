"""The commands of `mnemesh` against a mesh that runs: what they print, in text and as JSON, and how they fail."""

from __future__ import annotations

import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.cli.banner import Banner, curl_line
from mesh.cli.conversation import choose_avatar, list_avatars
from mesh.cli.http_client import MeshClient, Refused
from mesh.cli.problems import ExitCode
from mesh.testing.running_mesh import RunningMesh

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.xdist_group("running-mesh")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "dialogue.jsonl"


@pytest.fixture
def user() -> str:
    return str(uuid.uuid4())


@pytest.fixture
def client(up_mesh: RunningMesh, user: str) -> Iterator[MeshClient]:
    with up_mesh.client(user) as caller:
        yield caller


def test_the_curl_line_of_the_banner_works_as_it_is(up_mesh: RunningMesh, client: MeshClient) -> None:
    avatar = choose_avatar(list_avatars(client), "mia")
    line = curl_line(Banner(up_mesh.url, "", "", "", avatar.uid, needs_key=False))
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=30, check=True)
    events = re.findall(r"^event: (\w+)$", done.stdout, re.MULTILINE)
    assert events[0] == "session_start"
    assert events[-1] == "committed"
    assert "delta" in events


def test_chat_reads_a_pipe_and_shows_what_was_learned(up_mesh: RunningMesh, user: str) -> None:
    lines = "I live in Lviv.\n/new\nWhere do I live?\n/memory\n/why\n/forget home_city\n/memory\n/quit\n"
    done = up_mesh.run("chat", "--user", user, stdin=lines)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "\x1b" not in done.stdout
    assert "learned: home_city = Lviv" in done.stdout
    assert re.search(r"from: .*Lviv", done.stdout)
    assert "forgot: home_city = Lviv" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].strip() == "nothing is remembered yet"


def test_chat_as_json_is_one_object_a_turn(up_mesh: RunningMesh, user: str) -> None:
    done = up_mesh.run("chat", "--user", user, "--json", stdin="I live in Lviv.\n/memory\n")
    opened, turn, memory = (json.loads(line) for line in done.stdout.splitlines())
    assert uuid.UUID(opened["sessionId"])
    assert turn["answer"]
    assert turn["model"]["provider"] == "builtin"
    assert [fact["value"] for fact in turn["learned"]] == [fact["value"] for fact in memory["facts"]] == ["Lviv"]


def test_chat_goes_on_in_a_session(up_mesh: RunningMesh, user: str) -> None:
    first = up_mesh.run("chat", "--user", user, "--json", stdin="Hello.\n")
    session = json.loads(first.stdout.splitlines()[0])["sessionId"]
    again = up_mesh.run("chat", "--user", user, "--session", session, "--json", stdin="/help\n")
    assert json.loads(again.stdout.splitlines()[0])["sessionId"] == session


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--avatar", "nobody"], "no avatar is called 'nobody'"),
        (["--session", str(uuid.uuid4())], "SESSION_NOT_FOUND"),
        (["--user", "olena"], "'olena' is not a UUID"),
        (["--key", "mk_" + "x" * 43], "CREDENTIAL_INVALID"),
        (["--url", "http://127.0.0.1:1"], "no mesh answers at http://127.0.0.1:1"),
    ],
)
def test_chat_that_cannot_begin_says_why_in_one_sentence(up_mesh: RunningMesh, arguments: list[str], says: str) -> None:
    done = up_mesh.run("chat", *arguments, stdin="Hello.\n")
    assert done.returncode not in (ExitCode.OK, None)
    assert done.stdout == ""
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_ingest_stores_a_dialogue_once(up_mesh: RunningMesh, user: str, client: MeshClient) -> None:
    first = json.loads(up_mesh.run("ingest", str(EXAMPLE), "--user", user, "--json").stdout)
    second = json.loads(up_mesh.run("ingest", "-", "--user", user, "--json", stdin=EXAMPLE.read_text()).stdout)
    lines = len(EXAMPLE.read_text().splitlines())
    assert first["messages"] == second["messages"] == lines
    assert first["inserted"] >= lines
    assert (second["inserted"], second["updated"], second["unchanged"]) == (0, 0, first["inserted"])
    found = client.post("/v1/memory:recall", {"query": "When did the bell ring?", "kinds": ["CHUNK"], "limit": 3})
    assert "bell rang today" in " ".join(result["chunk"]["text"] for result in found["results"])


def test_a_message_that_is_refused_is_named_by_its_line(up_mesh: RunningMesh, user: str, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    good = {"source_id": "a", "text": "Hello.", "sent_time": "2026-03-02T18:40:00Z"}
    file.write_text("\n".join(json.dumps(line) for line in (good, {**good, "source_id": "b", "text": "x" * 8001})))
    done = up_mesh.run("ingest", str(file), "--user", user)
    assert done.returncode == ExitCode.FAILED
    assert f"{file}:2: text" in done.stderr


def test_keys_are_made_listed_used_and_revoked(up_mesh: RunningMesh) -> None:
    tenant = ["--tenant", f"t-{uuid.uuid4().hex[:8]}"]
    made = json.loads(up_mesh.run("keys", "create", "first", *tenant, "--scope", "*", "--json").stdout)
    secret, key_id = made["secret"], made["apiKey"]["id"]
    with up_mesh.client(api_key=secret) as caller:
        assert caller.get("/v1/avatars")["avatars"]
    listed = up_mesh.run("keys", "--key", secret, "list")
    assert key_id in listed.stdout
    assert "active" in listed.stdout
    assert secret not in listed.stdout
    assert up_mesh.run("keys", "revoke", key_id, *tenant).returncode == ExitCode.OK
    assert "revoked" in up_mesh.run("keys", "list", *tenant).stdout
    with up_mesh.client(api_key=secret) as caller, pytest.raises(Refused, match="CREDENTIAL_INVALID"):
        caller.get("/v1/avatars")


def test_doctor_finds_nothing_missing(up_mesh: RunningMesh) -> None:
    done = up_mesh.run("doctor", "--json")
    findings = json.loads(done.stdout)
    assert done.returncode == ExitCode.OK, findings
    assert {f"schema {name}" for name in ("gateway", "engine", "memory")} <= {
        finding["subject"] for finding in findings["findings"] if finding["verdict"] == "fine"
    }
