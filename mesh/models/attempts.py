"""Attempts at a provider: what failed, whether to try again, when, and how often in all.

An attempt is repeated only while nothing of it has reached the caller. Repeats are bounded three times: by a number
for each call, by a budget for each adapter (a provider that is down is not asked three times as often), and by the wait
that the provider itself asked for: one longer than the policy's is handed to the caller instead of being slept here.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, TypeVar

from mesh.kernel.errors import DeadlineExceeded, MeshError
from mesh.kernel.reasons import Reason

T = TypeVar("T")


class Failure(Exception):
    """One failed attempt.

    Args:
        error: what the caller gets when the attempt is not repeated.
        retryable: whether the same request may succeed in a moment.
        billed: whether the provider may have read the prompt; False for a refused connection or an error status.
        asked_wait: how long the provider asked to wait; None when it did not.
    """

    def __init__(
        self, error: MeshError, retryable: bool, *, billed: bool = True, asked_wait: timedelta | None = None
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.retryable = retryable
        self.billed = billed
        self.asked_wait = asked_wait


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
        asked_s = failure.asked_wait.total_seconds() if failure.asked_wait else 0.0
        return None if asked_s > self._policy.max_delay_s else asked_s + jitter_s

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


Explain: TypeAlias = Callable[[Exception], Failure | None]
"""What an error of a provider's library means; None when it is not one of the library's."""


async def bounded(call: Awaitable[T], timeout_s: float, explain: Explain, silent: MeshError | None = None) -> T:
    """Await one call of a provider's library.

    Args:
        call: the call; it is cancelled when the time is over.
        timeout_s: the most time for it.
        explain: maps the library's errors.
        silent: what a call without an answer raises; MODEL_STALLED when None.

    Raises:
        Failure: the call failed, or the time was over.
    """
    scope = asyncio.timeout(timeout_s)
    try:
        async with scope:
            return await call
    except Failure:
        raise
    except Exception as error:
        if isinstance(error, TimeoutError) and scope.expired():
            message = f"the model did not answer within {timeout_s:g} s"
            raise Failure(silent or DeadlineExceeded(Reason.MODEL_STALLED, message), retryable=False) from None
        failure = explain(error)
        if failure is None:
            raise
        raise failure from None
