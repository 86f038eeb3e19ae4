"""What `mnemesh up` says when everything runs: what answers, how to talk to it, how to stop it."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FAVOURITE_AVATAR = "mia"
ASK_TIMEOUT_S = 2.0
UUID_PATTERN = "[0-9a-f-]{36}"


@dataclass(frozen=True, slots=True)
class Banner:
    """The facts of a mesh that runs.

    Args:
        http_url: such as `http://127.0.0.1:8080`.
        model: one line about the language model.
        embedder: one line about the embedder.
        chat_command: starts the terminal client for this mesh.
        avatar_uid: of an avatar to talk with; empty when none could be listed.
        needs_key: True when callers must show an API key.
    """

    http_url: str
    model: str
    embedder: str
    chat_command: str
    avatar_uid: str
    needs_key: bool


def banner_lines(banner: Banner) -> list[str]:
    """Return the lines, each of them something that a person can act on."""
    lines = [f"model: {banner.model}", f"embedder: {banner.embedder}", ""]
    if banner.needs_key:
        lines.append('key      mnemesh keys create me --tenant default --scope "*"   (then set MNEMESH_API_KEY)')
    lines.append(f"talk     {banner.chat_command}")
    if banner.avatar_uid:
        lines.append(f"or       {curl_line(banner)}")
    lines += [f"read     {banner.http_url}/docs", "stop     Ctrl-C (nothing is lost)"]
    return lines


def curl_line(banner: Banner) -> str:
    """Return a shell command that opens a session and streams an answer in it.

    The session's id is the first UUID of the answer, so the line needs nothing but curl, grep and head.
    """
    headers = "-H 'Content-Type: application/json'"
    if banner.needs_key:
        headers += ' -H "Authorization: Bearer $MNEMESH_API_KEY"'
    opening = f"""curl -s {headers} -d '{{"avatarId":"{banner.avatar_uid}"}}' {banner.http_url}/v1/sessions"""
    session = f"$({opening} | grep -oE '{UUID_PATTERN}' | head -n 1)"
    message = """-d '{"text":"I live in Lviv and my dog is called Biscuit."}'"""
    return (
        f"curl -sN {headers} -H 'Accept: text/event-stream' {message} {banner.http_url}/v1/sessions/{session}:converse"
    )


def some_avatar(host: str, port: int) -> str:
    """Return the uid of an avatar to begin with, or an empty text when none can be listed. Blocks for a moment."""
    connection = http.client.HTTPConnection(host, port, timeout=ASK_TIMEOUT_S)
    try:
        connection.request("GET", "/v1/avatars")
        avatars = json.loads(connection.getresponse().read())["avatars"]
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return ""
    finally:
        connection.close()
    favourites = [avatar for avatar in avatars if avatar.get("avatarId") == FAVOURITE_AVATAR]
    return str((favourites or avatars or [{}])[0].get("uid", ""))


def command_line(arguments: Sequence[str]) -> str:
    """Return how this person would start `mnemesh` from where they are, with arguments."""
    program = Path(sys.argv[0])
    if shutil.which("mnemesh") == str(program.absolute()):
        name = "mnemesh"
    elif program.name == "mnemesh":
        name = _from_here(program)
    else:
        name = f"{_from_here(Path(sys.executable))} -m mesh.cli"
    return " ".join([name, *arguments])


def _from_here(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path.absolute()) if relative.startswith("..") else relative
