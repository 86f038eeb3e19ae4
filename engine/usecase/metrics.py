"""Numbers of the turns of this process, for whoever collects them."""

from __future__ import annotations

from opentelemetry import metrics

from engine.domain.turn import Model

_meter = metrics.get_meter("mnemesh")
_turns = _meter.create_counter("mnemesh.turns", "{turn}", "Turns that ended, by outcome: committed or an error reason.")
_duration = _meter.create_histogram("mnemesh.turn.duration", "s", "Time from accepting a message to its end.")
_first_delta = _meter.create_histogram(
    "mnemesh.turn.first_delta", "s", "Time from accepting a message to a first word."
)
_without_recall = _meter.create_counter("mnemesh.turns.without_recall", "{turn}", "Turns without recall, by reason.")
_abandoned = _meter.create_counter("mnemesh.turns.abandoned", "{turn}", "Turns whose engine died, found by the sweep.")


def turn_ended(outcome: str, model: Model, duration_s: float) -> None:
    """Count a turn that ended."""
    attributes = {"mnemesh.outcome": outcome, "gen_ai.provider.name": model.provider}
    _turns.add(1, attributes)
    _duration.record(duration_s, attributes)


def first_delta(model: Model, duration_s: float) -> None:
    """Record how long the first piece of an answer took."""
    _first_delta.record(duration_s, {"gen_ai.provider.name": model.provider})


def without_recall(reason: str) -> None:
    """Count a turn whose memory was late or down."""
    _without_recall.add(1, {"mnemesh.reason": reason})


def abandoned(turns: int) -> None:
    """Count turns that the sweep found dead."""
    _abandoned.add(turns)
