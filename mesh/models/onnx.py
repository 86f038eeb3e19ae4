"""The built-in embedder: MiniLM on this machine's processor, without a key and without a network.

One thread of its own computes; a query goes ahead of documents, which are embedded in batches small enough that it
waits for one of them at most. Documents are sorted by length, since a batch costs what its longest text costs. The
model is loaded, and quantised when it never was, by the first piece of work or by `warm_up`.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from mesh.kernel.errors import MeshError, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.attempts import Failure
from mesh.models.faults import ProviderFault, missing_extra
from mesh.models.lanes import Lanes, Room, Urgency, abandon
from mesh.models.minilm_files import PURPOSE
from mesh.models.protocols import EMBEDDING_DIMENSIONS, EmbeddingSpace, Vector, Vectors
from mesh.models.vectors import batches, checked_texts, padded_unit

if TYPE_CHECKING:
    from mesh.models.minilm_session import MiniLmSession

T = TypeVar("T")

SPACE = EmbeddingSpace("builtin", "minilm-l6-v2-int8")

_QUERIES = 0
_DOCUMENTS = 1
_TOKENISED_AT_ONCE = 256
_RETRY_LOAD_S = 10.0


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """How the embedder uses the machine.

    Args:
        threads: processor threads of one batch. Measured: 2 give 1.5 times the sentences of 1 on two cores.
        alone_texts: documents of a call of at most so many are embedded one by one, so that a text has the same vector
            each time: the int8 model's scales follow the whole batch, which moves a vector by a cosine of 0.01.
        batch_texts: the most texts in a batch. Measured: 8 and 16 are fastest, 32 is slower.
        batch_tokens: the most tokens in a batch, padding included; bounds how long a query waits (measured: 75 ms on
            two quiet cores). Measured: 512 is as fast as 1024, 256 a tenth slower.
        window_texts: documents of one call that are queued at once and sorted together.
        waiting_texts: the most documents of all calls in the queue.
        waiting_queries: the most queries in the queue.
        cached_queries: vectors of the latest queries that are kept.
    """

    threads: int = 2
    alone_texts: int = 4
    batch_texts: int = 16
    batch_tokens: int = 512
    window_texts: int = 1024
    waiting_texts: int = 8192
    waiting_queries: int = 256
    cached_queries: int = 1024


class OnnxEmbedder:
    """MiniLM as an `Embedder`. Use it from one event loop."""

    space = SPACE

    def __init__(self, cache_dir: Path, options: OnnxOptions | None = None) -> None:
        self._cache_dir = cache_dir
        self._options = options or OnnxOptions()
        self._lanes = Lanes("embedder")
        self._documents = Room(self._options.waiting_texts, "documents")
        self._queries = Room(self._options.waiting_queries, "queries")
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._session: MiniLmSession | None = None
        self._broken: tuple[float, MeshError] | None = None

    async def warm_up(self) -> None:
        """Load the model, and quantise it when this machine never did: seconds then, a tenth of one afterwards.

        Raises:
            MeshError: as `embed_query`; the next call tries again.
        """
        await self._submit((_QUERIES, 0), partial(self._embed, ["warm up"]))

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question; see `Embedder.embed_query`. The array is shared and cannot be written."""
        (text,) = checked_texts([text])
        known = self._known.get(text)
        if known is not None:
            self._known.move_to_end(text)
            return known
        with self._queries.take(1):
            vector: Vector = (await self._submit((_QUERIES, 0), partial(self._embed, [text])))[0]
        vector.setflags(write=False)
        self._known[text] = vector
        if len(self._known) > self._options.cached_queries:
            self._known.popitem(last=False)
        return vector

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text; see `Embedder.embed_documents`."""
        given = checked_texts(texts)
        found = np.zeros((len(given), EMBEDDING_DIMENSIONS), np.float32)
        window = self._options.window_texts
        with self._documents.take(min(len(given), window)):
            for start in range(0, len(given), window):
                await self._embed_window(given[start : start + window], found[start : start + window])
        return found

    async def close(self) -> None:
        """End the thread. What waits fails with EMBEDDER_UNAVAILABLE."""
        await self._lanes.close()

    async def _embed_window(self, texts: list[str], found: Vectors) -> None:
        rows: list[list[int]] = []
        for some in batches(texts, _TOKENISED_AT_ONCE):
            rows.extend(await self._submit((_DOCUMENTS, 0), partial(self._tokenise, some)))
        plan = list(self._plan(rows))
        waiting = [
            self._submit((_DOCUMENTS, turn), partial(self._vectors, [rows[index] for index in batch]))
            for turn, batch in enumerate(plan)
        ]
        try:
            for batch, vectors in zip(plan, waiting, strict=True):
                found[batch] = await vectors
        finally:
            abandon(waiting)

    def _submit(self, urgency: Urgency, work: Callable[[], T]) -> asyncio.Future[T]:
        return self._lanes.submit(urgency, partial(_mapped, work))

    def _plan(self, rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Yield batches as indexes of rows, shortest first, each within the bounds."""
        most = 1 if len(rows) <= self._options.alone_texts else self._options.batch_texts
        batch: list[int] = []
        for index in sorted(range(len(rows)), key=lambda index: len(rows[index])):
            padded = (len(batch) + 1) * len(rows[index])
            if batch and (len(batch) == most or padded > self._options.batch_tokens):
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        return self._loaded().tokenise(texts)

    def _vectors(self, rows: Sequence[Sequence[int]]) -> Vectors:
        return padded_unit(self._loaded().vectors(rows))

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return self._vectors(self._tokenise(texts))

    def _loaded(self) -> MiniLmSession:
        """Return the model, loading it on first use. Runs in the worker thread only.

        A model that could not be loaded is tried again after some seconds; until then its error is repeated at once, so
        that every waiting piece does not spend them.
        """
        if self._session is None:
            if self._broken and time.monotonic() - self._broken[0] < _RETRY_LOAD_S:
                raise self._broken[1]
            try:
                self._session = _mapped(partial(_load, self._cache_dir, self._options.threads))
            except MeshError as error:
                self._broken = (time.monotonic(), error)
                raise
        return self._session


def _load(cache_dir: Path, threads: int) -> MiniLmSession:
    try:
        from mesh.models.minilm_session import MiniLmSession  # noqa: PLC0415 - native libraries, in the worker thread
    except ImportError:
        raise missing_extra("local-models", PURPOSE) from None
    return MiniLmSession(cache_dir, threads)


def _mapped(work: Callable[[], T]) -> T:
    """Run a piece of work; the ONNX runtime's errors share no class, so whatever is not ours is one of them."""
    try:
        return work()
    except MeshError:
        raise
    except Failure as failure:
        raise failure.error from None
    except Exception as error:  # noqa: BLE001 - the boundary to the native libraries; the cause is kept
        cause = ProviderFault(f"{type(error).__name__}: {error}")
        raise Unavailable(Reason.EMBEDDER_UNAVAILABLE, f"{PURPOSE}: the model could not be run") from cause
