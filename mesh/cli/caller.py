"""From options and settings to a caller of a mesh: which mesh, and who speaks."""

from __future__ import annotations

import uuid

from mesh.cli.home import locate_home, read_state
from mesh.cli.http_client import ClientOptions, MeshClient
from mesh.cli.problems import usage_problem
from mesh.cli.settings import DEFAULT_HTTP_PORT, CliSettings, read_settings


def connect(url: str = "", key: str = "", user: str = "") -> MeshClient:
    """Return a caller; options that are empty fall back to settings, then to the mesh of this home.

    Raises:
        Problem: a setting or option cannot be used.
    """
    settings = read_settings()
    api_key = key or settings.api_key
    return MeshClient(
        ClientOptions(
            base_url=(url or settings.url or local_url(settings)).rstrip("/"),
            user_id="" if api_key else _user(user or settings.user_id),
            api_key=api_key,
        )
    )


def local_url(settings: CliSettings) -> str:
    """Return the address of the mesh that runs from this home, or the usual one."""
    state = read_state(locate_home(settings))
    if state is not None:
        return str(state["urls"]["http"])
    return f"http://127.0.0.1:{settings.http_port or DEFAULT_HTTP_PORT}"


def _user(chosen: str) -> str:
    if not chosen:
        return ""
    try:
        return str(uuid.UUID(chosen))
    except ValueError as error:
        raise usage_problem(f"{chosen!r} is not a UUID", "make one with `uuidgen`, or leave --user out") from error
