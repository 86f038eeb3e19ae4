"""Attempts: bounded by number, budget, and the wait that a provider asks for."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from mesh.kernel.errors import DeadlineExceeded, MeshError, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.attempts import Failure, Retries, RetryBudget, RetryPolicy, bounded
from mesh.models.faults import Provider, parse_seconds, rate_limited


def failure(*, retryable: bool = True, asked_wait: timedelta | None = None) -> Failure:
    return Failure(Unavailable(Reason.MODEL_UNAVAILABLE, "down"), retryable, asked_wait=asked_wait)


def test_wait_doubles_up_to_the_bound_with_full_jitter() -> None:
    policy = RetryPolicy(attempts=10, base_delay_s=0.5, max_delay_s=2)
    for attempt, most in [(1, 0.5), (2, 1.0), (3, 2.0), (4, 2.0)]:
        waits = [Retries(policy).delay_s(failure(), attempt) for _ in range(200)]
        assert all(wait is not None and 0 <= wait <= most for wait in waits)
        assert max(wait or 0 for wait in waits) > most / 2
        assert len(set(waits)) > 100


def test_last_attempt_and_permanent_failures_are_not_repeated() -> None:
    retries = Retries(RetryPolicy(attempts=2))
    assert retries.delay_s(failure(), 1) is not None
    assert retries.delay_s(failure(), 2) is None
    assert retries.delay_s(failure(retryable=False), 1) is None


def test_wait_that_a_provider_asks_for_is_the_least_and_a_long_one_is_not_slept() -> None:
    retries = Retries(RetryPolicy(base_delay_s=0.1, max_delay_s=4))
    asked = retries.delay_s(failure(asked_wait=timedelta(seconds=3)), 1)
    assert asked is not None
    assert 3 <= asked <= 3.1
    assert retries.delay_s(failure(asked_wait=timedelta(seconds=5)), 1) is None


def test_rate_limit_without_a_time_still_tells_the_caller_one() -> None:
    limited = rate_limited(None)
    assert limited.error.details.retry_after == timedelta(seconds=10)
    assert Retries(RetryPolicy()).delay_s(limited, 1) is not None


def test_budget_ends_repeats_and_successes_give_it_back() -> None:
    budget = RetryBudget(tokens=4, refill=0.5)
    assert [budget.failed() for _ in range(3)] == [True, False, False]
    for _ in range(6):
        budget.succeeded()
    assert budget.failed()


async def test_call_returns_the_first_success_and_counts_attempts() -> None:
    seen: list[int] = []

    async def once(attempt: int) -> str:
        seen.append(attempt)
        if attempt < 3:
            raise failure()
        return "done"

    assert await Retries(RetryPolicy(attempts=5, base_delay_s=0)).call(once) == "done"
    assert seen == [1, 2, 3]


async def test_call_raises_the_last_error_with_its_cause_and_without_the_failure() -> None:
    async def once(_attempt: int) -> str:
        raise Provider("p", ("key",)).caused(failure(), ValueError("key leaked"))

    with pytest.raises(Unavailable) as caught:
        await Retries(RetryPolicy(attempts=2, base_delay_s=0)).call(once)
    assert str(caught.value.__cause__) == "ValueError: [redacted] leaked"


async def test_bounded_call_is_cancelled_when_its_time_is_over() -> None:
    cancelled = asyncio.Event()

    async def silent() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(Failure) as caught:
        await bounded(silent(), 0.02, lambda _error: None)
    assert isinstance(caught.value.error, DeadlineExceeded)
    assert not caught.value.retryable
    assert cancelled.is_set()


async def test_bounded_call_tells_a_librarys_timeout_from_its_own() -> None:
    async def raises() -> None:
        raise TimeoutError("the library's own")

    mapped = failure()
    with pytest.raises(Failure) as caught:
        await bounded(raises(), 5, lambda _error: mapped)
    assert caught.value is mapped
    with pytest.raises(TimeoutError):
        await bounded(raises(), 5, lambda _error: None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("17", 17), ("0.5", 0.5), ("", None), ("-3", None), ("0", None), ("nan", None), ("inf", None), ("1e9", None)],
)
def test_wait_is_read_from_seconds_only(text: str, seconds: float | None) -> None:
    assert parse_seconds(text) == (None if seconds is None else timedelta(seconds=seconds))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 422, 429, 500, 503, 529])
def test_every_status_has_a_reason_and_names_the_status_only_as_metadata(status: int) -> None:
    error: MeshError = Provider("p").status_failure(status, None).error
    assert error.details.metadata["provider_status"] == str(status)
    assert str(status) not in error.message
