"""What a search is asked, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.domain.chunk import Chunk, ChunkSource
from memory.domain.fact import Fact
from memory.domain.fusion import Weights
from memory.domain.moments import TimeRange
from memory.domain.vector import StoredVector

EXACT_ROWS = 10_000
"""Scopes up to this size are scored row by row, which is exact; in larger ones the indexes choose candidates first."""


@dataclass(frozen=True, slots=True)
class ChunkScope:
    """Which chunks a search looks at; empty texts and None filter nothing."""

    user_id: str
    dialog_key: str = ""
    avatar_id: str = ""
    sources: Sequence[ChunkSource] = ()
    tags: Sequence[str] = ()
    sent_after: datetime | None = None
    sent_before: datetime | None = None
    exclude_session: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for.

    Args:
        terms: lexemes; empty when the question has none.
        vector: None when the embedder could not make it.
        topic_keys: regular expression of keys that bear on the question.
        times: ranges that the question names; what was said then is lifted.
    """

    terms: Sequence[str]
    vector: StoredVector | None
    topic_keys: str
    times: Sequence[TimeRange] = ()

    @property
    def can_find(self) -> bool:
        """True when there is anything to rank by."""
        return bool(self.terms) or self.vector is not None


@dataclass(frozen=True, slots=True)
class Ranking:
    """How many results of what, and how they are ranked.

    Args:
        most: results.
        with_facts: facts are among them.
        with_chunks: chunks are among them.
        weights: the figures of the fusion.
        scope_size: chunks of the scope; above `EXACT_ROWS` only candidates are scored.
    """

    most: int
    with_facts: bool
    with_chunks: bool
    weights: Weights
    scope_size: int = 0

    @property
    def is_exact(self) -> bool:
        """True when every chunk of the scope is scored."""
        return not self.with_chunks or self.scope_size <= EXACT_ROWS


@dataclass(frozen=True, slots=True)
class Parts:
    """Each arm's own figure, and what it added to the score."""

    bm25: float
    cosine: float
    topic: float
    spoke: float
    timely: float
    lexical_part: float
    vector_part: float
    topic_part: float
    source_part: float
    time_part: float
    neighbours_part: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: a fact or a chunk, its score, and the parts of the score."""

    item: Fact | Chunk
    score: float
    parts: Parts


@dataclass(frozen=True, slots=True)
class BoostedChunk:
    """One result of the plain ranking: the cosine and the boost of the source are its score."""

    chunk: Chunk
    match_score: float
    boost: float
    weighted_score: float
