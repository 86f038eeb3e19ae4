"""Attempts at a provider: what failed, whether to try again, when, and how often in all.

An attempt is repeated only while nothing of it has reached the caller. Repeats are bounded three times: by a number
for each call, by a budget for each adapter (a provider that is down is not asked three times as often), and by the wait
that the provider itself asked for: one longer than the policy's is handed to the caller instead of being slept here.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from mesh.kernel.errors import ErrorDetails, MeshError, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason

T = TypeVar("T")

DEFAULT_RETRY_AFTER = timedelta(seconds=10)
"""What a rate-limited caller is told when the provider named no time."""

_FAULT_TEXT_LIMIT = 500
_HTTP_REQUEST_TIMEOUT = 408
_HTTP_TOO_MANY_REQUESTS = 429
_HTTP_SERVER_ERRORS = range(500, 600)


class ProviderFault(Exception):
    """What a provider or its library said, credentials removed: the `__cause__` of our error, for the log only."""


class Failure(Exception):
    """One failed attempt.

    Args:
        error: what the caller gets when the attempt is not repeated; its `details.retry_after` is the provider's wait.
        retryable: whether the same request may succeed in a moment.
        billed: whether the provider may have read the prompt; False for a refused connection or an error status.
    """

    def __init__(self, error: MeshError, *, retryable: bool, billed: bool = True) -> None:
        super().__init__(error.message)
        self.error = error
        self.retryable = retryable
        self.billed = billed


def fault(cause: BaseException, secrets: Iterable[str]) -> ProviderFault:
    """Return the loggable form of a library's error: its type and text, shortened, without the given secrets."""
    text = f"{type(cause).__name__}: {cause}"
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[redacted]")
    return ProviderFault(text[:_FAULT_TEXT_LIMIT])


def caused(error: MeshError, cause: BaseException, secrets: Iterable[str] = ()) -> MeshError:
    """Return the error with the loggable form of what caused it."""
    error.__cause__ = fault(cause, secrets)
    return error


def rate_limited(retry_after: timedelta | None, *, retryable: bool = True) -> Failure:
    """Return the failure for a provider's rate limit; a used-up quota is not retryable."""
    details = ErrorDetails(retry_after=retry_after or DEFAULT_RETRY_AFTER)
    error = ResourceExhausted(Reason.MODEL_RATE_LIMITED, "the model provider limits the rate of requests", details)
    return Failure(error, retryable=retryable, billed=False)


def output_invalid(message: str, *, retryable: bool = True) -> Failure:
    """Return the failure for an answer that is not what was asked for."""
    return Failure(Unavailable(Reason.MODEL_OUTPUT_INVALID, message), retryable=retryable)


def is_transient(status: int) -> bool:
    """Tell whether an HTTP status is worth another attempt: 408, 429 and every 5xx."""
    return status in (_HTTP_REQUEST_TIMEOUT, _HTTP_TOO_MANY_REQUESTS) or status in _HTTP_SERVER_ERRORS


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How one call is repeated.

    Args:
        attempts: the most attempts of one call, the first included; at least 1.
        base_delay_s: upper bound of the wait before the second attempt; it doubles with each attempt.
        max_delay_s: the longest wait; a provider that asks for more is not asked again by this call.
    """

    attempts: int = 3
    base_delay_s: float = 0.25
    max_delay_s: float = 4.0


class RetryBudget:
    """A share of calls that may be repeats, kept by one adapter. Source: gRPC proposal A6, retry throttling.

    Every failed attempt takes one token, every success gives back a tenth of one, and attempts are repeated only while
    more than half of the tokens are left: when most calls fail, each is tried once.
    """

    def __init__(self, tokens: float = 10.0, refill: float = 0.1) -> None:
        self._most = tokens
        self._refill = refill
        self._tokens = tokens

    def succeeded(self) -> None:
        """Give back a part of a token."""
        self._tokens = min(self._most, self._tokens + self._refill)

    def failed(self) -> bool:
        """Take a token and tell whether another attempt is within the budget."""
        self._tokens = max(0.0, self._tokens - 1)
        return self._tokens > self._most / 2


class Retries:
    """The policy and the budget of one adapter."""

    def __init__(self, policy: RetryPolicy, budget: RetryBudget | None = None) -> None:
        self._policy = policy
        self._budget = budget or RetryBudget()

    def succeeded(self) -> None:
        """Note a successful attempt."""
        self._budget.succeeded()

    def delay_s(self, failure: Failure, attempt: int) -> float | None:
        """Note a failed attempt and return the seconds to wait before the next one, or None to give up.

        Full jitter. Source: AWS Architecture Blog, 'Exponential Backoff And Jitter'.

        Args:
            failure: what went wrong.
            attempt: which attempt it was, from 1.
        """
        if not failure.retryable:
            return None
        within_budget = self._budget.failed()
        if attempt >= self._policy.attempts or not within_budget:
            return None
        bound_s = min(self._policy.max_delay_s, self._policy.base_delay_s * 2 ** (attempt - 1))
        jitter_s = random.uniform(0.0, bound_s)  # noqa: S311 - spreads load, guards nothing
        asked = _asked_delay_s(failure)
        return None if asked > self._policy.max_delay_s else asked + jitter_s

    async def call(self, once: Callable[[int], Awaitable[T]]) -> T:
        """Run an operation until it succeeds or may not be repeated.

        Args:
            once: one attempt, given its number from 1; raises `Failure` when it failed.

        Raises:
            MeshError: the error of the last failure.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                result = await once(attempt)
            except Failure as failure:
                wait_s = self.delay_s(failure, attempt)
                if wait_s is None:
                    raise failure.error from failure.error.__cause__
            else:
                self.succeeded()
                return result
            await asyncio.sleep(wait_s)


def _asked_delay_s(failure: Failure) -> float:
    """Return the seconds that the provider asked to wait; 0 when it named none."""
    after = failure.error.details.retry_after
    return 0.0 if after is None or after is DEFAULT_RETRY_AFTER else after.total_seconds()
