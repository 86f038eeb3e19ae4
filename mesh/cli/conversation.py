"""A conversation with one avatar as the terminal sees it: what can be done in it, without a word about how it looks."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesh.cli.http_client import MeshClient, Refused
from mesh.cli.problems import Problem
from mesh.cli.turns import Message, TurnResult, TurnView, run_turn, with_patience

LEARNING_WAIT_S = 2.0
LEARNING_POLL_S = 0.1
WHY_LIMIT = 3
FAVOURITE_AVATAR = "mia"


@dataclass(frozen=True, slots=True)
class Avatar:
    """Whom one talks with: its uid, its readable id and its name."""

    uid: str
    slug: str
    name: str


class Conversation:
    """A session that is opened when it is first needed.

    Args:
        client: of the mesh.
        avatar: whom to talk with.
        session_id: a session to go on in, or empty for a new one.
        time_zone: the user's IANA zone, empty for UTC.
    """

    def __init__(self, client: MeshClient, avatar: Avatar, session_id: str = "", time_zone: str = "") -> None:
        self._client = client
        self.avatar = avatar
        self._session_id = session_id
        self._time_zone = time_zone

    @property
    def session_id(self) -> str:
        """The session's UUID; opens the session when there is none yet."""
        if not self._session_id:
            body = {"avatarId": self.avatar.uid, "requestId": str(uuid.uuid4())}
            answer = with_patience(lambda: self._client.post("/v1/sessions", body))
            self._session_id = answer["session"]["id"]
        return self._session_id

    def renew(self) -> str:
        """Open a new session with the same avatar and return its UUID."""
        self._session_id = ""
        return self.session_id

    def say(self, text: str, view: TurnView) -> TurnResult:
        """Say something; the view is told of the answer as it comes."""
        message = Message(self.session_id, text, str(uuid.uuid4()), self._time_zone)
        return run_turn(self._client, message, view)

    def learned_from(self, turn_id: str, wait_s: float = LEARNING_WAIT_S) -> list[dict[str, Any]]:
        """Return the facts learned from a turn, waiting a little, since learning follows the answer."""
        deadline = time.monotonic() + wait_s
        while True:
            facts = list(self._client.pages("/v1/memory/facts", "facts", {"turnId": turn_id}))
            if facts or time.monotonic() >= deadline:
                return facts
            time.sleep(LEARNING_POLL_S)

    def facts(self) -> list[dict[str, Any]]:
        """Return what is remembered of this user with this avatar, or with none."""
        everything = self._client.pages("/v1/memory/facts", "facts")
        return [fact for fact in everything if fact.get("avatarId", "") in {"", self.avatar.uid}]

    def forget(self, key: str) -> list[dict[str, Any]]:
        """Delete the facts with a key, and the words that they were learned from; return what was deleted."""
        doomed = [fact for fact in self.facts() if fact["key"] == key]
        for fact in doomed:
            params = {"deleteEvidence": "true", "requestId": str(uuid.uuid4())}
            fact["chunksDeleted"] = self._client.delete(f"/v1/memory/facts/{fact['id']}", params).get(
                "chunksDeleted", 0
            )
        return doomed

    def why(self, text: str) -> Mapping[str, Any]:
        """Return what memory finds for a text outside of this session, as the engine asks it, with parts of scores."""
        body = {
            "query": text,
            "avatarId": self.avatar.uid,
            "limit": WHY_LIMIT,
            "explain": True,
            "excludeSession": self.session_id,
        }
        return self._client.post("/v1/memory:recall", body)


def list_avatars(client: MeshClient) -> list[Avatar]:
    """Return the avatars of a mesh, newest first."""
    return [_avatar(item) for item in client.pages("/v1/avatars", "avatars")]


def choose_avatar(avatars: Sequence[Avatar], wanted: str) -> Avatar:
    """Return the avatar that is meant.

    Args:
        avatars: to choose from, newest first.
        wanted: a uid, a readable id or a name; empty means the example avatar, or else the newest.

    Raises:
        Problem: there is none.
    """
    if not avatars:
        raise Problem("this mesh has no avatars", "add a row to ml.avatars, or run `mnemesh migrate --seed-examples`")
    if not wanted:
        return next((avatar for avatar in avatars if avatar.slug == FAVOURITE_AVATAR), avatars[0])
    for avatar in avatars:
        if wanted.casefold() in {avatar.uid, avatar.slug.casefold(), avatar.name.casefold()}:
            return avatar
    known = ", ".join(avatar.slug or avatar.uid for avatar in avatars)
    raise Problem(f"no avatar is called {wanted!r}", f"choose one of {known}")


def avatar_of_session(client: MeshClient, session_id: str) -> str:
    """Return the uid of a session's avatar."""
    try:
        return str(client.get(f"/v1/sessions/{session_id}")["session"]["avatarId"])
    except Refused as refused:
        raise Problem(
            f"session {session_id} cannot be continued ({refused.reason})", "leave --session out"
        ) from refused


def _avatar(item: Mapping[str, Any]) -> Avatar:
    slug = item.get("avatarId", "")
    return Avatar(item["uid"], slug, item.get("name") or slug or "avatar")
