"""Recall: what memory holds about a question, facts and chunks in one ranked list.

An arm that cannot take part is named, and the others answer: without vectors the words still find, and a question
without a searchable word is answered by vectors alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory.domain.fact import Fact
from memory.domain.fusion import WEIGHTS, Weights
from memory.domain.lexical import query_terms
from memory.domain.moments import time_ranges
from memory.domain.retrieval import ChunkScope, Hit, Question, Ranking
from memory.domain.selection import REPEATS, selected
from memory.domain.topics import topic_keys
from memory.repository import search
from memory.usecase.embedding import Embeddings
from memory.usecase.scopes import ScopeSizes
from memory.usecase.seen import SeenFacts
from mesh.db.pool import Database
from mesh.kernel.clock import Clock
from mesh.kernel.identity import INTERNAL_SCOPE, Call

DEFAULT_LIMIT = 12
QUERY_CHARS = 4_000
"""Characters of a question that are used."""

VECTOR_SHARE = 0.6
"""Part of the caller's time that may pass while the question's vector is made; the rest is for the database."""

MAX_VECTOR_WAIT_S = 2.0

NO_TERMS = "NO_TERMS"
"""Reason of a lexical arm that had nothing to search for (G10)."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """An arm that did not take part, and why."""

    arm: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A question to memory.

    Args:
        text: the words.
        scope: which chunks to look at.
        limit: most results; 0 means 12.
        with_facts: False leaves facts out.
        with_chunks: False leaves chunks out.
    """

    text: str
    scope: ChunkScope
    limit: int = 0
    with_facts: bool = True
    with_chunks: bool = True


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found, best first, and the arms that are missing."""

    hits: Sequence[Hit] = ()
    degraded: Sequence[Degraded] = field(default_factory=tuple)


class Recall:
    """Answers questions from the calling user's memory."""

    def __init__(
        self,
        db: Database,
        embeddings: Embeddings,
        sizes: ScopeSizes,
        seen: SeenFacts,
        clock: Clock,
        weights: Weights = WEIGHTS,
    ) -> None:
        self._db = db
        self._embeddings = embeddings
        self._sizes = sizes
        self._seen = seen
        self._clock = clock
        self._weights = weights

    async def recall(self, call: Call, query: RecallQuery, budget_s: float) -> Recalled:
        """Return what memory holds about a question.

        Facts that one of the mesh's own servers recalls are about to be put before a model, and are marked as seen.

        Args:
            call: who asks.
            query: the question.
            budget_s: seconds until the caller stops waiting.

        Raises:
            NotFound: the user has no dialog of that key (DIALOG_NOT_FOUND).
        """
        question, degraded = await ask(self._embeddings, query.text, self._clock.now(), budget_s)
        limit = query.limit or DEFAULT_LIMIT
        ranking = Ranking(limit + REPEATS, query.with_facts, query.with_chunks, self._weights)
        async with self._db.transaction(call.tenant_id) as tx:
            ranking = replace(ranking, scope_size=await self._sizes.size(tx, query.scope))
            found = await search.recall(tx, query.scope, question, ranking) if question.can_find else []
        hits = selected(found, limit)
        if call.principal.may(INTERNAL_SCOPE):
            self._seen.note(call, [hit.item.id for hit in hits if isinstance(hit.item, Fact)])
        return Recalled(hits, degraded)


async def ask(embeddings: Embeddings, text: str, now: datetime, budget_s: float) -> tuple[Question, list[Degraded]]:
    """Return a question ready to search with, and the arms that it has nothing for."""
    used = text[:QUERY_CHARS]
    terms = query_terms(used)
    made = await embeddings.query(used, min(budget_s * VECTOR_SHARE, MAX_VECTOR_WAIT_S))
    degraded = []
    if made.missing_because is not None:
        degraded.append(Degraded("vector", made.missing_because.value))
    if not terms:
        degraded.append(Degraded("lexical", NO_TERMS))
    return Question(terms, made.vector, topic_keys(terms), time_ranges(used, now)), degraded
