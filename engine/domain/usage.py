"""What an attempt at a provider cost (SEEDS S11, G18): one row for each, whether it succeeded or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

CHARS_PER_TOKEN = 4
"""Characters in one token, for an attempt of which only lengths are known. Source: Gemini API, 'Understand and count
tokens': about four characters of English."""


class Phase(StrEnum):
    """What the tokens were spent on; the other phases of SEEDS S11 come with what spends them."""

    GENERATE = "generate"


class Outcome(StrEnum):
    """How an attempt at a provider ended."""

    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one attempt.

    Args:
        input_tokens: tokens read, cached ones included.
        output_tokens: tokens written.
        measured: True when the provider reported them.
        cached_input_tokens: the part of `input_tokens` that came from the provider's cache.
    """

    input_tokens: int
    output_tokens: int
    measured: bool
    cached_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ProviderAttempt:
    """One attempt at the provider.

    Args:
        number: from 1 within one attempt of the turn.
        outcome: `finished` at most once, and last.
    """

    number: int
    tokens: Tokens
    outcome: Outcome


def lost_attempt(expected_input_tokens: int) -> ProviderAttempt:
    """Return the estimate for an attempt whose engine died: what it was going to send, nothing received."""
    return ProviderAttempt(1, Tokens(expected_input_tokens, 0, measured=False), Outcome.LOST)


def expected_tokens(chars: Sequence[int]) -> int:
    """Return the estimated tokens of texts of which only the lengths in characters are known."""
    return -(-sum(chars) // CHARS_PER_TOKEN)
