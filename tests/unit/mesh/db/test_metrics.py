"""Pools and outboxes are told apart by name, and one that is gone is told no more."""

from __future__ import annotations

import gc

from opentelemetry.metrics import CallbackOptions

from mesh.db import metrics as pool_metrics
from mesh.db.connections import PoolStats
from mesh.jobs import metrics as relay_metrics
from mesh.jobs.claims import OutboxStats

STATS = PoolStats(10, in_use=3, idle=2, waiting=4, acquired=50, wait_s=0.5, refused=6, connect_failures=1)


class StandingPool:
    def stats(self) -> PoolStats:
        return STATS


def told(pick: str, pool: str) -> dict[str, float]:
    """Return the observations of one pool by their state."""
    read = pool_metrics._observations(lambda stats: {"": getattr(stats, pick), "twice": 2 * getattr(stats, pick)})
    found = {}
    for observation in read(CallbackOptions()):
        attributes = dict(observation.attributes or {})
        if attributes["db.client.connection.pool.name"] == pool:
            found[str(attributes.get("db.client.connection.state", ""))] = float(observation.value)
    return found


def test_pool_is_observed_under_its_name_for_as_long_as_it_lives() -> None:
    pool = StandingPool()
    pool_metrics.observe_pool("metrics-test", pool)
    assert told("in_use", "metrics-test") == {"": 3, "twice": 6}
    assert told("in_use", "another") == {}
    del pool
    gc.collect()
    assert told("in_use", "metrics-test") == {}


def test_outbox_is_observed_once_it_was_counted() -> None:
    meter = relay_metrics.RelayMeter("metrics_test")
    read = relay_metrics._observations(lambda stats: stats.pending)

    def pending() -> list[float]:
        return [
            each.value
            for each in read(CallbackOptions())
            if (each.attributes or {})["mnemesh.schema"] == "metrics_test"
        ]

    assert pending() == []
    meter.stats = OutboxStats(pending=7, dead=1, oldest_pending_seconds=3.5)
    assert pending() == [7]
