"""What went into a prompt, by ids and revisions, so that a stored turn can be explained later.

Texts are not copied: erasing a fact must not leave its words in a turn (G14).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.domain.history import History
from engine.domain.recall import Recalled, RecalledChunk, RecalledFact, Skipped


def describe(history: History, recalled: Recalled) -> dict[str, Any]:
    """Return the JSON to store with a turn."""
    return {
        "history": {"strategy": history.strategy, "turns": len(history.turns), "cut_chars": history.cut_chars},
        "facts": [{"id": fact.id, "revision": fact.revision, "score": fact.score} for fact in recalled.facts],
        "chunks": [{"id": chunk.id, "source": chunk.source, "score": chunk.score} for chunk in recalled.chunks],
        "skipped": [{"arm": skipped.arm, "reason": skipped.reason} for skipped in recalled.skipped],
    }


def recalled_of(provenance: Mapping[str, Any]) -> Recalled | None:
    """Return what a stored turn recalled, ids and scores only; None when nothing was stored."""
    if not provenance:
        return None
    facts = [
        RecalledFact(row["id"], row["revision"], "", "", "", "", None, row["score"])
        for row in provenance.get("facts", ())
    ]
    chunks = [
        RecalledChunk(row["id"], row["source"], "", "", None, row["score"]) for row in provenance.get("chunks", ())
    ]
    skipped = [Skipped(row["arm"], row["reason"]) for row in provenance.get("skipped", ())]
    return Recalled(facts, chunks, skipped)
