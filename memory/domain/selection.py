"""Which of the ranked things become the answer: the best, each said once, and not evidence alone.

Somebody who asks the same question in every session says it every time, and nothing resembles a question more than its
copies. They are evidence of asking and would fill the list; so equal words of one speaker count once, and facts keep a
share of the places as long as they have anything to do with the question.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory.domain.chunk import Chunk
from memory.domain.fact import Fact
from memory.domain.retrieval import Hit

REPEATS = 24
"""How many more of each kind are ranked than are wanted, to have enough when equal ones are left out."""

FACT_SHARE = 3
"""One place in so many is kept for facts that score above the mean of the scope, which is a score of 0."""


def selected(ranked: Sequence[Hit], limit: int) -> list[Hit]:
    """Return at most `limit` hits, best first.

    Args:
        ranked: facts and chunks, best first.
        limit: places, at least 1.
    """
    distinct = _said_once(ranked)
    facts = [hit for hit in distinct if isinstance(hit.item, Fact) and hit.score > 0]
    kept = facts[: limit // FACT_SHARE]
    kept_ids = {hit.item.id for hit in kept}
    others = [hit for hit in distinct if hit.item.id not in kept_ids]
    return sorted([*kept, *others[: limit - len(kept)]], key=lambda hit: -hit.score)


def _said_once(ranked: Sequence[Hit]) -> list[Hit]:
    distinct: dict[tuple[str, ...], Hit] = {}
    for hit in ranked:
        distinct.setdefault(_words(hit.item), hit)
    return list(distinct.values())


def _words(item: Fact | Chunk) -> tuple[str, ...]:
    """Return what makes two results the same to a reader; facts are never the same."""
    if isinstance(item, Fact):
        return (item.id,)
    return (item.speaker, " ".join(item.text.casefold().split()))
