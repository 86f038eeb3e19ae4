"""What a search is asked, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.domain.chunk import Chunk, ChunkSource
from memory.domain.fact import Fact
from memory.domain.fusion import Weights
from memory.domain.vector import StoredVector


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
    """

    terms: Sequence[str]
    vector: StoredVector | None
    topic_keys: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """How many results of what, and the figures of the fusion."""

    most: int
    with_facts: bool
    with_chunks: bool
    weights: Weights


@dataclass(frozen=True, slots=True)
class Parts:
    """Each arm's own figure, and what it added to the score."""

    bm25: float
    cosine: float
    topic: float
    spoke: float
    lexical_part: float
    vector_part: float
    topic_part: float
    source_part: float
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
