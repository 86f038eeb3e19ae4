"""Ranked reading of facts and chunks: one statement a search; every query is scoped by tenant and user."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from memory.domain.chunk import BLOCK_CHUNKS, Chunk
from memory.domain.fact import Fact
from memory.domain.fusion import Weights
from memory.domain.lexical import speaker_mark
from memory.domain.retrieval import BoostedChunk, ChunkScope, Hit, Parts, Question, Ranking
from memory.domain.vector import StoredVector
from memory.repository.sections import rendered
from memory.repository.vectors import halfvec
from mesh.db.queries import load
from mesh.db.transaction import Tx

T = TypeVar("T")

_QUERIES = load(__name__, "search.sql")
_RECALL = _QUERIES.get("recall")
_READ_WIDELY = _QUERIES.get("read_widely")
_CANDIDATES = _QUERIES.get("candidates")
_MATCH_CHUNKS = _QUERIES.get("match_chunks")

TERM_COUNTS = (4, 8, 12, 24)
"""For how many terms there is a statement; a few, so that each is prepared once and then used often."""

MOST_BLOCKS = 48
MOST_BY_VECTOR = 160
MOST_SAMPLED = 200
"""In a huge scope, the blocks of 32 messages and the nearest chunks from which candidates come: about 2,000 rows."""

MAX_SCAN_TUPLES = 100_000
"""How far a vector scan goes on when its rows are other users'."""

_WEIGHTS = ("lexical", "vector", "speaker", "time", "session", "topic", "fact")

_NO_LEXEME = "'none:'"
"""A query that no row matches, since no stored lexeme ends in a colon."""


_FIELDS: dict[type[Any], tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in (Fact, Chunk, Parts)
}


@dataclass(frozen=True, slots=True)
class _Statement:
    """What makes a statement of a query: for how many terms, with which sections and which parameters."""

    size: int
    sections: frozenset[str]
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Positions worth scoring, and what is known of the scope as a whole.

    Args:
        dialogs: dialog of each position.
        ordinals: message of each position.
        mean_length: of a sample of rows.
        cosine_mean: of a sample; None without a vector.
        cosine_sd: of a sample; None without a vector.
        shares: for each term, the share of blocks that hold it.
    """

    dialogs: list[str] | None
    ordinals: list[int] | None
    mean_length: float | None
    cosine_mean: float | None
    cosine_sd: float | None
    shares: list[float | None]


class _Row:
    """A result row as it comes: the columns of a fact and of a chunk, one of them all NULL."""

    def __init__(self, **columns: Any) -> None:
        self._columns = columns

    def hit(self) -> Hit:
        return Hit(self._item(), self._columns["score"], self._of(Parts))

    def boosted(self) -> BoostedChunk:
        columns = self._columns
        return BoostedChunk(self._of(Chunk), columns["match_score"], columns["boost"], columns["weighted_score"])

    def _item(self) -> Fact | Chunk:
        return self._of(Fact) if self._columns["is_fact"] else self._of(Chunk)

    def _of(self, kind: type[T]) -> T:
        columns = self._columns
        return kind(**{name: columns[name] for name in _FIELDS[kind] if name in columns})


async def recall(tx: Tx, scope: ChunkScope, question: Question, ranking: Ranking) -> list[Hit]:
    """Return facts of the user and chunks of the scope in one list, best first."""
    size = next((count for count in TERM_COUNTS if count >= len(question.terms)), TERM_COUNTS[-1])
    statement = _Statement(
        size,
        _sections(scope, question, ranking),
        {
            **_scope_params(tx, scope),
            **_term_params(question.terms[:size], size),
            **_vector_params(question.vector),
            **_weight_params(ranking.weights, bool(question.terms)),
            "topic_keys": question.topic_keys,
            "ranges": [range_.literal() for range_ in question.times],
            "most": ranking.most,
        },
    )
    if not ranking.is_exact:
        statement = await _narrowed(tx, statement, ranking.scope_size)
    query = rendered(_RECALL, statement.sections, size)
    return [row.hit() for row in await tx.all(query, statement.params, into=_Row)]


async def _narrowed(tx: Tx, statement: _Statement, scope_size: int) -> _Statement:
    """Return the statement for candidates of a huge scope only, with weights of terms that hold for all of it."""
    size, params = statement.size, dict(statement.params)
    params |= {"most_blocks": MOST_BLOCKS, "most_by_vector": MOST_BY_VECTOR, "most_sampled": MOST_SAMPLED}
    params["block_size"] = BLOCK_CHUNKS
    await tx.value(_READ_WIDELY, {"ef_search": str(MOST_BY_VECTOR), "max_scan_tuples": str(MAX_SCAN_TUPLES)})
    both = {"both"} if {"lexical", "vector"} <= statement.sections else set()
    found = await tx.one(rendered(_CANDIDATES, statement.sections | both, size), params, into=_Candidates)
    if found is None:
        return statement
    params |= _scope_figures(found, scope_size)
    params |= {"dialogs": found.dialogs or [], "ordinals": found.ordinals or []}
    return _Statement(size, statement.sections | {"candidates", "weighed"}, params)


def _scope_figures(found: _Candidates, scope_size: int) -> dict[str, float | None]:
    """Return the figures that standard scores in the whole scope need, from what is known of its blocks and a sample.

    A block of n rows holds a term with the probability 1 - (1 - p)^n when each row holds it with p; terms are taken to
    be independent, and rows to have the mean length.
    """
    shares = [1 - (1 - min(share or 0.0, 0.999)) ** (1 / BLOCK_CHUNKS) for share in found.shares]
    weights = [_idf(share * scope_size, scope_size) for share in shares]
    variance = sum(share * (1 - share) * weight**2 for share, weight in zip(shares, weights, strict=True))
    return {
        **{f"weight{i}": weight for i, weight in enumerate(weights, 1)},
        "bm25_mean": sum(share * weight for share, weight in zip(shares, weights, strict=True)),
        "bm25_sd": math.sqrt(variance) or None,
        "mean_length": found.mean_length or 1.0,
        "cosine_mean": found.cosine_mean,
        "cosine_sd": found.cosine_sd or None,
    }


def _idf(rows: float, scope_size: int) -> float:
    return math.log(1 + (scope_size - rows + 0.5) / (rows + 0.5))


async def match_chunks(tx: Tx, scope: ChunkScope, vector: StoredVector, most: int) -> list[BoostedChunk]:
    """Return chunks by cosine plus the boost of their source, best first (S6)."""
    params = {**_scope_params(tx, scope), **_vector_params(vector), "most": most}
    params["dialog_key"] = scope.dialog_key or None
    params["avatar_id"] = scope.avatar_id or None
    params["sources"] = [source.value for source in scope.sources] or None
    return [row.boosted() for row in await tx.all(_MATCH_CHUNKS, params, into=_Row)]


def _sections(scope: ChunkScope, question: Question, ranking: Ranking) -> frozenset[str]:
    wanted = {
        "lexical": bool(question.terms),
        "vector": question.vector is not None,
        "facts": ranking.with_facts,
        "chunks": ranking.with_chunks,
        "dialog": bool(scope.dialog_key),
        "avatar": bool(scope.avatar_id),
        "sources": bool(scope.sources),
        "tags": bool(scope.tags),
        "after": scope.sent_after is not None,
        "before": scope.sent_before is not None,
        "except": bool(scope.exclude_session),
        "time": bool(question.times),
    }
    return frozenset(name for name, is_wanted in wanted.items() if is_wanted)


def _scope_params(tx: Tx, scope: ChunkScope) -> dict[str, Any]:
    return {
        "tenant_id": tx.tenant_id,
        "user_id": scope.user_id,
        "dialog_key": scope.dialog_key,
        "avatar_id": scope.avatar_id,
        "sources": [source.value for source in scope.sources],
        "tags": list(scope.tags),
        "sent_after": scope.sent_after,
        "sent_before": scope.sent_before,
        "exclude_session": scope.exclude_session,
    }


def _term_params(terms: Sequence[str], size: int) -> dict[str, str]:
    padded = [*(f"'{term}'" for term in terms), *[_NO_LEXEME] * (size - len(terms))]
    speakers = " | ".join(f"'{speaker_mark(term)}'" for term in terms)
    return {"speakers": speakers or _NO_LEXEME} | {f"term{i}": term for i, term in enumerate(padded, 1)}


def _vector_params(vector: StoredVector | None) -> dict[str, Any]:
    if vector is None:
        return {}
    return {"embedding": halfvec(vector.values), "space_id": vector.space_id}


def _weight_params(weights: Weights, has_terms: bool) -> dict[str, float]:
    figures = asdict(weights)
    renamed = {f"{name}_weight": figures.pop(name) for name in _WEIGHTS}
    if not has_terms:
        renamed["vector_weight"] += renamed["lexical_weight"]
    return {**figures, **renamed}
