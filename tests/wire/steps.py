"""What a fake provider does with the next request. Each step is used once; without steps it behaves well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Say:
    """Answer a text, or a streamed one, in the given pieces.

    Args:
        pieces: the parts of the answer; a stream sends each in a message of its own.
        finish: the provider's spelling of why it ended (`STOP`, `stop`, `SAFETY`, `content_filter`, ...); empty sends
        none.
        tokens: (input, output) as the provider counts them; None reports no usage.
        stall_before: wait for the client to leave before sending piece number `stall_before` (0 is the first).
        cut_before: break the connection before sending piece number `cut_before`.
        garble_before: send a message that is no JSON before piece number `garble_before`.
        fail_before: send an error inside the stream before piece number `fail_before`.
    """

    pieces: tuple[str, ...] = ("Hello ", "there.")
    finish: str | None = None
    tokens: tuple[int, int] | None = (11, 7)
    stall_before: int | None = None
    cut_before: int | None = None
    garble_before: int | None = None
    fail_before: int | None = None


@dataclass(frozen=True)
class Fail:
    """Answer an HTTP error in the provider's form.

    Args:
        status: the HTTP status.
        retry_after_s: seconds to wait, in the provider's form; None names none.
        reason: the provider's machine-readable code, such as `API_KEY_INVALID` or `insufficient_quota`.
        text: the provider's words.
    """

    status: int
    retry_after_s: float | None = None
    reason: str = ""
    text: str = "upstream says no: internal-host-17"


@dataclass(frozen=True)
class Raw:
    """Answer bytes as they are."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True)
class Refuse:
    """Answer a safety verdict on the prompt, without any text."""


@dataclass(frozen=True)
class Stall:
    """Accept the request and answer nothing until the client leaves."""


@dataclass(frozen=True)
class Vectors:
    """Answer embeddings of a wrong shape: `count` rows (None: as many as asked) of `size` numbers, all `value`."""

    count: int | None = None
    size: int = 768
    value: Any = 0.5


Step = Say | Fail | Raw | Refuse | Stall | Vectors
