"""One turn of a conversation over HTTP, safe to repeat.

The message goes out with a `requestId`. When the stream breaks or the mesh is down for a moment, the same message goes
out again with the same id: the engine then streams the answer that it committed, or tries the same turn again. What was
shown before is not shown twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from mesh.cli.http_client import MeshClient, Refused, Transient

T = TypeVar("T")

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
DEFAULT_PATIENCE_S = 30.0


class TurnView(Protocol):
    """Who watches a turn."""

    def context(self, context: Mapping[str, Any]) -> None:
        """Show what was recalled; may come again after a break."""

    def text(self, piece: str) -> None:
        """Show the next piece of the answer."""

    def restart(self) -> None:
        """Forget the text shown so far: the answer begins anew, in other words."""

    def waiting(self, problem: Transient) -> None:
        """Tell that the turn is sent again after a pause."""

    def ended(self) -> None:
        """Tell that nothing more comes, whether the turn succeeded or not."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a user says.

    Args:
        session_id: UUID of the session.
        text: the words.
        request_id: UUID of this message; the same for every attempt.
        time_zone: IANA name, empty for UTC.
    """

    session_id: str
    text: str
    request_id: str
    time_zone: str = ""


@dataclass(slots=True)
class TurnResult:
    """A committed turn.

    Args:
        turn_id: UUID.
        text: the whole answer.
        start: the `sessionStart` event.
        context: the `context` event.
        committed: the `committed` event.
        attempts: how often the message was sent.
    """

    turn_id: str = ""
    text: str = ""
    start: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    committed: dict[str, Any] = field(default_factory=dict)
    attempts: int = 0


class SilentView:
    """Watches without showing anything."""

    def context(self, context: Mapping[str, Any]) -> None:
        pass

    def text(self, piece: str) -> None:
        pass

    def restart(self) -> None:
        pass

    def waiting(self, problem: Transient) -> None:
        pass

    def ended(self) -> None:
        pass


def run_turn(
    client: MeshClient,
    message: Message,
    view: TurnView,
    *,
    patience_s: float = DEFAULT_PATIENCE_S,
) -> TurnResult:
    """Say something and return the committed answer.

    Args:
        client: of the mesh.
        message: what to say.
        view: is told what happens.
        patience_s: how long to go on trying after the first failure.

    Raises:
        Refused: the turn can not succeed.
        Transient: it did not succeed in time; the same message may be sent again.
    """
    shown = _Shown(view)
    attempts = 0

    def attempt() -> TurnResult:
        nonlocal attempts
        attempts += 1
        return _attempt(client, message, shown)

    try:
        result = with_patience(attempt, patience_s=patience_s, waiting=view.waiting)
    finally:
        view.ended()
    result.attempts = attempts
    return result


def with_patience(
    call: Callable[[], T],
    *,
    patience_s: float = DEFAULT_PATIENCE_S,
    waiting: Callable[[Transient], None] | None = None,
) -> T:
    """Return what a call returns, repeating it while it fails in a way that may pass.

    Args:
        call: must be safe to repeat, as requests with a `requestId` are.
        patience_s: how long to go on after the first failure.
        waiting: is told of each pause before it.
    """
    deadline: float | None = None
    for pause_s in pauses():
        try:
            return call()
        except Transient as problem:
            deadline = deadline or time.monotonic() + patience_s
            wait_s = max(pause_s, problem.retry_after_s)
            if time.monotonic() + wait_s > deadline:
                raise
            if waiting is not None:
                waiting(problem)
            time.sleep(wait_s)
    raise AssertionError("pauses never end")


def pauses() -> Iterator[float]:
    """Yield the lengths of successive pauses in seconds, doubling up to a limit."""
    pause_s = FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(LONGEST_PAUSE_S, pause_s * 2)


class _Shown:
    """What the view has seen of the answer, over all attempts."""

    def __init__(self, view: TurnView) -> None:
        self.view = view
        self._seen = ""

    def extend(self, answer: str) -> None:
        if answer.startswith(self._seen):
            fresh = answer[len(self._seen) :]
        elif self._seen.startswith(answer):
            return
        else:
            self.view.restart()
            fresh = answer
        self._seen = answer
        if fresh:
            self.view.text(fresh)


def _attempt(client: MeshClient, message: Message, shown: _Shown) -> TurnResult:
    result = TurnResult()
    body = {"text": message.text, "requestId": message.request_id, "timeZone": message.time_zone}
    for event in client.stream(f"/v1/sessions/{message.session_id}:converse", body):
        if "committed" in event:
            result.committed = event["committed"]
            result.turn_id = result.committed.get("turnId", "")
            return result
        if "error" in event:
            raise _turn_error(event["error"])
        _take(event, result, shown)
    raise Transient("the answer broke off", "send the message again")


def _take(event: Mapping[str, Any], result: TurnResult, shown: _Shown) -> None:
    if "sessionStart" in event:
        result.start = event["sessionStart"]
    elif "context" in event:
        result.context = event["context"]
        shown.view.context(result.context)
    elif "delta" in event:
        result.text += event["delta"].get("text", "")
        shown.extend(result.text)


def _turn_error(error: Mapping[str, Any]) -> Transient | Refused:
    reason = str(error.get("reason", ""))
    sentence = f"{str(error.get('message') or 'the turn failed').rstrip('.')} ({reason})"
    if error.get("retryable"):
        return Transient(sentence, "send the message again")
    return Refused(sentence, 200, reason)
