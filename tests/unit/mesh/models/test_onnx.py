"""The built-in embedder, with its real model. The quantised model is kept between runs of the tests."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mesh.kernel.errors import FailedPrecondition, InvalidArgument, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models import onnx as onnx_module
from mesh.models.onnx import OnnxEmbedder, OnnxOptions


@pytest.fixture(scope="session")
def model_cache(pytestconfig: pytest.Config) -> Path:
    cache = pytestconfig.cache
    assert cache is not None
    return Path(cache.mkdir("embedder"))


@pytest.fixture
async def embedder(model_cache: Path) -> AsyncIterator[OnnxEmbedder]:
    embedder = OnnxEmbedder(model_cache)
    yield embedder
    await embedder.close()


class SlowSession:
    """A model of which each batch waits to be let go; vectors say which text they are of."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.batches: list[int] = []

    def tokenise(self, texts: list[str]) -> list[list[int]]:
        return [[len(text)] * len(text) for text in texts]

    def vectors(self, rows: list[list[int]]) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.begun.release()
        assert self.go.acquire(timeout=10)
        self.batches.append(len(rows))
        found = np.zeros((len(rows), 384), np.float32)
        for index, row in enumerate(rows):
            found[index, row[0] % 384] = 1
        return found


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowSession:
    session = SlowSession()
    monkeypatch.setattr(onnx_module, "_load", lambda _cache, _threads: session)
    return session


async def test_near_meanings_are_near(embedder: OnnxEmbedder) -> None:
    query = await embedder.embed_query("What is the name of my pet?")
    near, far = await embedder.embed_documents(["My dog is called Biscuit.", "The meeting is at nine on Monday."])
    assert query @ near > query @ far + 0.1


async def test_vectors_are_padded_and_of_length_one(embedder: OnnxEmbedder) -> None:
    vectors = await embedder.embed_documents(["one", "a somewhat longer text about nothing", "x" * 50_000])
    assert vectors.shape == (3, 768)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert not vectors[:, 384:].any()


async def test_order_is_kept_whatever_the_lengths(embedder: OnnxEmbedder) -> None:
    texts = [f"item {number} " + "and more " * (number * 7 % 31) for number in range(40)]
    together = await embedder.embed_documents(texts)
    for number in (0, 13, 39):
        alone = (await embedder.embed_documents([texts[number]]))[0]
        assert together[number] @ alone > 0.95
        assert int(np.argmax(together @ alone)) == number


async def test_few_texts_have_the_same_vectors_in_any_company(embedder: OnnxEmbedder) -> None:
    alone = await embedder.embed_documents(["red wine"])
    in_company = await embedder.embed_documents(["a rather long text about something else", "red wine", "tea"])
    assert np.array_equal(alone[0], in_company[1])
    assert np.array_equal(alone[0], await embedder.embed_query("red wine"))


async def test_text_counts_up_to_256_tokens(embedder: OnnxEmbedder) -> None:
    long = "word " * 254
    first, cut, other = await embedder.embed_documents([long, long + "tail of other meaning", "word tail"])
    assert np.array_equal(first, cut)
    assert not np.array_equal(first, other)


async def test_query_is_cached_and_shared_read_only(embedder: OnnxEmbedder) -> None:
    vector = await embedder.embed_query("Where do I live?")
    assert await embedder.embed_query("Where do I live?") is vector
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


async def test_no_texts_and_blank_texts(embedder: OnnxEmbedder) -> None:
    assert (await embedder.embed_documents([])).shape == (0, 768)
    with pytest.raises(InvalidArgument):
        await embedder.embed_query("  ")


async def test_event_loop_stays_free_while_documents_are_embedded(embedder: OnnxEmbedder) -> None:
    await embedder.warm_up()
    work = asyncio.create_task(embedder.embed_documents(["a text of some ten words that says very little"] * 64))
    longest = 0.0
    while not work.done():
        began = time.perf_counter()
        await asyncio.sleep(0)
        longest = max(longest, time.perf_counter() - began)
    assert longest < 0.25
    assert (await work).shape == (64, 768)


async def test_query_waits_for_at_most_one_batch(slow: SlowSession, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path, OnnxOptions(batch_texts=4))
    documents = asyncio.create_task(embedder.embed_documents(["text"] * 40))
    assert await asyncio.to_thread(slow.begun.acquire, True, 10)
    query = asyncio.create_task(embedder.embed_query("a question"))
    await asyncio.sleep(0)
    slow.go.release(2)
    await query
    assert slow.batches == [4, 1]
    slow.go.release(20)
    assert (await documents).shape == (40, 768)
    await embedder.close()


async def test_calls_of_documents_take_turns(slow: SlowSession, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path, OnnxOptions(batch_texts=4))
    large = asyncio.create_task(embedder.embed_documents(["text"] * 400))
    assert await asyncio.to_thread(slow.begun.acquire, True, 10)
    small = asyncio.create_task(embedder.embed_documents(["other"]))
    await asyncio.sleep(0)
    slow.go.release(1)
    assert await asyncio.to_thread(slow.begun.acquire, True, 10)
    while not any(job.urgency == (1, 0) for job in embedder._lanes._waiting):  # noqa: ASYNC110 - another thread's doing
        await asyncio.sleep(0.001)
    slow.go.release(2)
    assert (await small).shape == (1, 768)
    assert slow.batches == [4, 4, 1]
    slow.go.release(100)
    await large
    await embedder.close()


async def test_batches_are_bounded_by_texts_and_by_padded_tokens(slow: SlowSession, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path, OnnxOptions(batch_texts=4, batch_tokens=100))
    slow.go.release(100)
    await embedder.embed_documents(["x" * length for length in (1, 1, 1, 1, 1, 40, 40, 40, 200)])
    assert sorted(slow.batches) == [1, 2, 2, 4]
    await embedder.close()


async def test_full_queue_is_overloaded_at_once_and_recovers(slow: SlowSession, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path, OnnxOptions(waiting_texts=8, window_texts=8, waiting_queries=1))
    first = asyncio.create_task(embedder.embed_documents(["text"] * 6))
    assert await asyncio.to_thread(slow.begun.acquire, True, 10)
    with pytest.raises(ResourceExhausted) as caught:
        await embedder.embed_documents(["text"] * 3)
    assert caught.value.reason is Reason.OVERLOADED
    query = asyncio.create_task(embedder.embed_query("one"))
    await asyncio.sleep(0)
    with pytest.raises(ResourceExhausted):
        await embedder.embed_query("two")
    slow.go.release(10)
    await asyncio.gather(first, query)
    assert (await embedder.embed_documents(["text"] * 3)).shape == (3, 768)
    await embedder.close()


async def test_call_larger_than_the_queue_goes_window_by_window(slow: SlowSession, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path, OnnxOptions(waiting_texts=8, window_texts=8))
    slow.go.release(100)
    texts = ["x" * (1 + number % 5) for number in range(30)]
    vectors = await embedder.embed_documents(texts)
    assert [int(np.argmax(row)) for row in vectors] == [len(text) for text in texts]
    await embedder.close()


async def test_cancelled_call_leaves_the_queue(slow: SlowSession, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path, OnnxOptions(batch_texts=4))
    documents = asyncio.create_task(embedder.embed_documents(["text"] * 400))
    assert await asyncio.to_thread(slow.begun.acquire, True, 10)
    documents.cancel()
    with pytest.raises(asyncio.CancelledError):
        await documents
    slow.go.release(2)
    await embedder.embed_query("a question")
    assert slow.batches == [4, 1]
    await embedder.close()


async def test_model_that_cannot_be_loaded_is_tried_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loads: list[int] = []

    def fail(_cache: Path, _threads: int) -> Any:
        loads.append(1)
        raise RuntimeError("bad model at /secret/path")

    monkeypatch.setattr(onnx_module, "_load", fail)
    embedder = OnnxEmbedder(tmp_path)
    for _ in range(3):
        with pytest.raises(Unavailable) as caught:
            await embedder.embed_query("x")
        assert caught.value.reason is Reason.EMBEDDER_UNAVAILABLE
        assert "secret" not in caught.value.message
    assert len(loads) == 1
    session = SlowSession()
    session.go.release(10)
    monkeypatch.setattr(onnx_module, "_load", lambda _cache, _threads: session)
    monkeypatch.setattr(onnx_module, "_RETRY_LOAD_S", 0.0)
    assert (await embedder.embed_query("x")).shape == (768,)
    await embedder.close()


async def test_missing_runtime_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "mesh.models.minilm_session", None)
    embedder = OnnxEmbedder(tmp_path)
    with pytest.raises(FailedPrecondition) as caught:
        await embedder.warm_up()
    assert "mnemesh[local-models]" in caught.value.message
    await embedder.close()


async def test_closed_embedder_is_unavailable(slow: SlowSession, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path)
    await embedder.close()
    await embedder.close()
    with pytest.raises(Unavailable):
        await embedder.embed_query("x")
