"""A caller of the gateway's HTTP: JSON in and out, streams of events, and failures as sentences.

Blocking on purpose: a terminal waits for one thing at a time, and threads may share one client.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from mesh.cli.problems import ExitCode, Problem
from mesh.cli.sse import EventDecoder

CONNECT_TIMEOUT_S = 5.0
CALL_TIMEOUT_S = 60.0
STREAM_SILENCE_S = 120.0
"""A stream that says nothing for so long is broken; the engine gives up on a silent model earlier."""

_TRANSIENT_STATUS = frozenset({429, 502, 503, 504})
_TRANSIENT_REASONS = frozenset({"TURN_IN_PROGRESS", "CONFLICT"})


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Whom to call, and as whom.

    Args:
        base_url: such as `http://127.0.0.1:8080`.
        user_id: sent as `X-User-ID`; empty sends none.
        api_key: sent as bearer token; empty sends none.
        timeout_s: most time for a call that is no stream.
    """

    base_url: str
    user_id: str = ""
    api_key: str = ""
    timeout_s: float = CALL_TIMEOUT_S


class Transient(Problem):
    """A failure after which the same request, with the same `requestId`, may succeed.

    Args:
        retry_after_s: how long the server asks to wait, 0 when it does not say.
    """

    def __init__(self, message: str, remedy: str = "", *, retry_after_s: float = 0.0) -> None:
        super().__init__(message, remedy, ExitCode.UNREACHABLE)
        self.retry_after_s = retry_after_s


class Refused(Problem):
    """The mesh answered with an error.

    Args:
        status: HTTP status.
        reason: an `ErrorReason`, empty when the answer was no problem document.
        violations: `(field, description)` of each bad field.
    """

    def __init__(self, message: str, status: int, reason: str, violations: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message, _REMEDIES.get(reason, ""))
        self.status = status
        self.reason = reason
        self.violations = violations


_REMEDIES: Mapping[str, str] = {
    "CREDENTIAL_MISSING": "name an API key with --key or MNEMESH_API_KEY",
    "CREDENTIAL_INVALID": "check --key; `mnemesh keys create` makes a new key",
    "CREDENTIAL_EXPIRED": "make a new key with `mnemesh keys create`",
    "SCOPE_MISSING": "use a key that has this scope",
    "SCHEMA_BEHIND": "run `mnemesh migrate`",
}


class MeshClient:
    """Calls one mesh. Use as a context manager, or call `close`."""

    def __init__(self, options: ClientOptions, transport: httpx.BaseTransport | None = None) -> None:
        """Make a caller; it connects with the first call.

        Args:
            options: whom to call.
            transport: carries requests; the network unless another is given.
        """
        self._options = options
        headers = {"User-Agent": "mnemesh-cli"}
        if options.api_key:
            headers["Authorization"] = f"Bearer {options.api_key}"
        elif options.user_id:
            headers["X-User-ID"] = options.user_id
        self._http = httpx.Client(
            base_url=options.base_url,
            headers=headers,
            timeout=httpx.Timeout(options.timeout_s, connect=CONNECT_TIMEOUT_S),
            trust_env=False,
            transport=transport,
        )

    @property
    def base_url(self) -> str:
        return self._options.base_url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer of a GET; raises `Refused` or `Transient`."""
        return self._call("GET", path, params=_present(params))

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer of a POST; raises `Refused` or `Transient`."""
        return self._call("POST", path, body=body)

    def delete(self, path: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer of a DELETE; raises `Refused` or `Transient`."""
        return self._call("DELETE", path, params=_present(params))

    def pages(self, path: str, field: str, params: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the items of a list, page after page.

        Args:
            path: of the list.
            field: name of the items in the answer, such as `facts`.
            params: filters; a `pageSize` among them is the size of a page.
        """
        token = ""
        while True:
            answer = self.get(path, {**(params or {}), "pageToken": token})
            yield from answer.get(field, [])
            token = answer.get("nextPageToken", "")
            if not token:
                return

    def stream(self, path: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the events of a server stream, each as the JSON of its data.

        Raises:
            Refused: the call was refused, before or in the middle of the stream.
            Transient: the stream broke, or the mesh cannot be reached.
        """
        timeout = httpx.Timeout(STREAM_SILENCE_S, connect=CONNECT_TIMEOUT_S)
        headers = {"Accept": "text/event-stream"}
        with (
            self._transport_errors(),
            self._http.stream("POST", path, json=body, headers=headers, timeout=timeout) as answer,
        ):
            if answer.status_code >= httpx.codes.BAD_REQUEST:
                answer.read()
                raise _failure(answer)
            decoder = EventDecoder()
            for chunk in answer.iter_bytes():
                for event in decoder.feed(chunk):
                    yield _payload(event.name, event.data)

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        with self._transport_errors():
            answer = self._http.request(method, path, params=params, json=body)
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            raise _failure(answer)
        return _json_object(answer)

    @contextmanager
    def _transport_errors(self) -> Iterator[None]:
        try:
            yield
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise Problem(
                f"{self._options.base_url} is not the address of a mesh",
                "write it like http://127.0.0.1:8080",
                ExitCode.USAGE,
            ) from error
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Transient(
                f"no mesh answers at {self._options.base_url}",
                "start one with `mnemesh up`, or name another with --url",
            ) from error
        except (httpx.TransportError, httpx.StreamError) as error:
            raise Transient(f"the connection to {self._options.base_url} broke", "try again") from error


def _present(params: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (params or {}).items() if value not in ("", None)}


def _payload(name: str, data: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise Transient("the stream broke in the middle of an event", "try again") from error
    if not isinstance(value, dict):
        raise Transient("the stream holds something that is not an event", "try again")
    if name == "problem" or ("status" in value and "reason" in value and "title" in value):
        raise _failure_of(value, int(value.get("status", 500)), 0.0)
    return value


def _json_object(answer: httpx.Response) -> dict[str, Any]:
    try:
        value = answer.json()
    except ValueError as error:
        raise _not_a_mesh(answer) from error
    if not isinstance(value, dict):
        raise _not_a_mesh(answer)
    return value


def _failure(answer: httpx.Response) -> Problem:
    try:
        document = answer.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        if answer.status_code in _TRANSIENT_STATUS:
            return Transient(f"the mesh cannot answer now (HTTP {answer.status_code})", "try again")
        return _not_a_mesh(answer)
    return _failure_of(document, answer.status_code, _retry_after_s(answer))


def _failure_of(document: Mapping[str, Any], status: int, retry_after_s: float) -> Problem:
    reason = str(document.get("reason") or "")
    sentence = str(document.get("detail") or document.get("title") or f"HTTP {status}").rstrip(".")
    shown = f"{sentence} ({reason})" if reason else sentence
    if status in _TRANSIENT_STATUS or reason in _TRANSIENT_REASONS:
        return Transient(shown, "try again", retry_after_s=retry_after_s)
    violations = document.get("violations") or document.get("errors") or ()
    pairs = tuple((str(item.get("field", "")), str(item.get("description", ""))) for item in violations)
    return Refused(shown, status, reason, pairs)


def _retry_after_s(answer: httpx.Response) -> float:
    try:
        return max(0.0, float(answer.headers.get("Retry-After", "0")))
    except ValueError:
        return 0.0


def _not_a_mesh(answer: httpx.Response) -> Problem:
    return Problem(
        f"{answer.request.url.copy_with(path='/', query=None)} answers, but is not a mesh (HTTP {answer.status_code})",
        "name the right address with --url",
        ExitCode.UNREACHABLE,
    )
