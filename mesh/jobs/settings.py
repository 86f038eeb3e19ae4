"""Bounds of the relay."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta

_MAX_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """How an outbox is delivered.

    Args:
        concurrency: deliveries at once, and most items of one claim.
        poll_interval_s: pause when nothing was due.
        lease_s: how long a claim holds without a sign of life; the longest delay after a killed worker.
        heartbeat_s: between two prolongations of a lease; at most a third of it.
        handler_timeout_s: longest run of a handler.
        max_attempts: deliveries before an item is a dead letter.
        backoff_base_s: mean wait after the first failure; it doubles with each.
        backoff_max_s: longest mean wait.
        drain_s: how long running handlers may go on when the worker stops.
        stats_interval_s: between two counts for the metrics.
    """

    concurrency: int = 8
    poll_interval_s: float = 0.5
    lease_s: float = 60.0
    heartbeat_s: float = 15.0
    handler_timeout_s: float = 300.0
    max_attempts: int = 10
    backoff_base_s: float = 1.0
    backoff_max_s: float = 300.0
    drain_s: float = 10.0
    stats_interval_s: float = 15.0

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.max_attempts < 1:
            raise ValueError("concurrency and max_attempts must be at least 1")
        if not 0 < self.heartbeat_s <= self.lease_s / 3:
            raise ValueError("heartbeat_s must be positive and at most a third of lease_s")

    def backoff(self, attempts: int) -> timedelta:
        """Return how long to wait after an attempt, from 1: half to one and a half of the mean, at random."""
        mean_s = min(self.backoff_max_s, self.backoff_base_s * 2 ** min(attempts - 1, _MAX_DOUBLINGS))
        return timedelta(seconds=mean_s * random.uniform(0.5, 1.5))  # noqa: S311 - spreads load, guards nothing
