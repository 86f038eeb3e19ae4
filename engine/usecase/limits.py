"""The bounds of a turn; each is a setting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.domain.turn import Model

MAX_ANSWER_CHARS = 262_144
"""Most characters of an answer; more is cut and the turn ends with `length`. Source: `LearnFromTurnRequest`."""

REPLAY_PIECE_CHARS = 4_096
"""Most characters of one delta when a committed answer is streamed again."""


def _setting(env: str, doc: str, default: float) -> Any:
    return field(default=default, metadata={"env": env, "doc": doc})


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """How long and how large the parts of a turn may get. Seconds and characters."""

    lease_s: float = _setting(
        "MNEMESH_ENGINE_LEASE_SECONDS", "Seconds after which a turn whose engine died counts as failed.", 30.0
    )
    max_turn_s: float = _setting("MNEMESH_ENGINE_MAX_TURN_SECONDS", "Most seconds that a turn may take.", 300.0)
    recall_budget_s: float = _setting(
        "MNEMESH_ENGINE_RECALL_BUDGET_SECONDS", "Seconds that a turn waits for memory before it goes on without.", 0.3
    )
    builtin_recall_budget_s: float = _setting(
        "MNEMESH_ENGINE_BUILTIN_RECALL_BUDGET_SECONDS",
        "The same for the built-in responder, which has nothing to answer from without memory.",
        3.0,
    )
    recall_limit: int = _setting("MNEMESH_ENGINE_RECALL_LIMIT", "Most recalled things in a prompt, up to 100.", 12)
    history_chars: int = _setting(
        "MNEMESH_ENGINE_HISTORY_CHARS", "Most characters of a session's past in a prompt.", 60_000
    )
    commit_retry_s: float = _setting(
        "MNEMESH_ENGINE_COMMIT_RETRY_SECONDS",
        "Seconds for which a turn tries again to reach a database that is away.",
        15.0,
    )
    max_running_turns: int = _setting(
        "MNEMESH_ENGINE_MAX_RUNNING_TURNS", "Most turns that one engine runs at once.", 500
    )

    def __post_init__(self) -> None:
        bounds = (
            self.lease_s,
            self.max_turn_s,
            self.recall_budget_s,
            self.builtin_recall_budget_s,
            self.commit_retry_s,
        )
        if min(bounds) <= 0 or min(self.history_chars, self.max_running_turns) < 1:
            raise ValueError("every limit of a turn must be positive")
        if not 1 <= self.recall_limit <= 100:
            raise ValueError("MNEMESH_ENGINE_RECALL_LIMIT must be from 1 to 100")

    def recall_budget_of(self, model: Model) -> float:
        """Return the seconds that a turn of a model waits for memory."""
        return self.builtin_recall_budget_s if model.only_repeats else self.recall_budget_s

    @property
    def heartbeat_s(self) -> float:
        """Seconds between two prolongations of a lease, so that two of them may fail."""
        return self.lease_s / 3
