"""Numbers of the relays of this process for whoever collects them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from datetime import datetime

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation

from mesh.jobs.claims import OutboxStats
from mesh.jobs.outbox import OutboxItem

_meter = metrics.get_meter("mnemesh")
_deliveries = _meter.create_counter(
    "mnemesh.outbox.deliveries", "{delivery}", "Deliveries by topic and outcome: delivered, retried, dead, lost."
)
_lag = _meter.create_histogram("mnemesh.outbox.lag", "s", "Time from appending an item to its delivery.")


class RelayMeter:
    """Measurements of one relay; `stats` is what the outbox held when it was last counted."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.stats: OutboxStats | None = None
        _meters.add(self)

    def delivered(self, item: OutboxItem, outcome: str, now: datetime) -> None:
        """Count one delivery and what became of it."""
        attributes = {"mnemesh.schema": self.schema, "mnemesh.topic": item.topic}
        _deliveries.add(1, {**attributes, "mnemesh.outcome": outcome})
        if outcome == "delivered":
            _lag.record((now - item.created_at).total_seconds(), attributes)


_meters: weakref.WeakSet[RelayMeter] = weakref.WeakSet()


def _observations(pick: Callable[[OutboxStats], float]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def read(_: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(pick(meter.stats), {"mnemesh.schema": meter.schema})
            for meter in list(_meters)
            if meter.stats is not None
        ]

    return read


_meter.create_observable_gauge(
    "mnemesh.outbox.pending", [_observations(lambda stats: stats.pending)], "{item}", "Items that wait for delivery."
)
_meter.create_observable_gauge(
    "mnemesh.outbox.dead", [_observations(lambda stats: stats.dead)], "{item}", "Dead letters."
)
_meter.create_observable_gauge(
    "mnemesh.outbox.oldest_age",
    [_observations(lambda stats: stats.oldest_pending_seconds)],
    "s",
    "Age of the oldest item that waits.",
)
