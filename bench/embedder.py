"""P8: the built-in embedder against a bare loop over the ONNX runtime, on the same model and the same texts.

    python bench/embedder.py [--full] [--models DIR]

The bare loop tokenises everything at once, sorts by length and runs batches of 16; it has no queue, no thread of its
own, no checks. Both sides take turns, slice by slice, since machines are never quiet. Prints one line of JSON: the
ratio of elapsed times, the ratio of processor times (all that is left of it on a busy machine), sentences a second of
both, and how long a query takes alone and while documents are embedded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mesh.models.minilm_session import MiniLmSession
from mesh.models.onnx import OnnxEmbedder, OnnxOptions

TARGET = 0.9
BATCH = 16
SLICE = 128
SYLLABLES = ("ba", "ter", "ni", "lo", "gra", "ven", "si", "mo", "ka", "ri", "tu", "pel", "an", "os", "el", "in")


def main() -> int:
    """Measure and print; exit with 1 when the target is missed."""
    parser = argparse.ArgumentParser(description="Throughput of the built-in embedder beside a bare loop (P8).")
    parser.add_argument("--full", action="store_true", help="four times the texts and more rounds")
    parser.add_argument("--models", type=Path, help="directory of the prepared model; a fresh one when not given")
    arguments = parser.parse_args()
    texts = sentences(2048 if arguments.full else 512)
    rounds = 8 if arguments.full else 3
    with tempfile.TemporaryDirectory() as fresh:
        line = asyncio.run(measure(arguments.models or Path(fresh), texts, rounds))
    print(json.dumps(line))
    return int(line["ratio"] < TARGET)


def sentences(count: int) -> list[str]:
    """Return texts of 5 to 45 made-up words, the same on every run."""
    numbers = random.Random(20)
    words = ["".join(numbers.choices(SYLLABLES, k=numbers.randint(1, 3))) for _ in range(2000)]
    return [" ".join(numbers.choices(words, k=numbers.randint(5, 45))) for _ in range(count)]


async def measure(models: Path, texts: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return the figures of P8."""
    threads = OnnxOptions().threads
    embedder = OnnxEmbedder(models)
    began = time.perf_counter()
    await embedder.warm_up()
    loaded_s = time.perf_counter() - began
    bare = MiniLmSession(models, threads)
    ours, others = Spent(), Spent()
    for turn in range(rounds):
        for start in range(0, len(texts), SLICE):
            some = texts[start : start + SLICE]
            sides = [(others, bare_loop(bare, some)), (ours, embedder.embed_documents(some))]
            for spent, side in sides if (turn + start // SLICE) % 2 == 0 else reversed(sides):
                await spent.add(side)
    alone_ms = await query_ms(embedder, "alone", 50)
    documents = asyncio.create_task(embedder.embed_documents(texts))
    busy_ms = await query_ms(embedder, "busy", 20)
    await documents
    await embedder.close()
    return {
        "target": "P8",
        "ratio": round(others.elapsed_s / ours.elapsed_s, 3),
        "ratio_of_processor_time": round(others.processor_s / ours.processor_s, 3),
        "target_ratio": TARGET,
        "sentences_per_s": round(len(texts) * rounds / ours.elapsed_s, 1),
        "bare_sentences_per_s": round(len(texts) * rounds / others.elapsed_s, 1),
        "query_ms": percentiles(alone_ms),
        "query_while_embedding_ms": percentiles(busy_ms),
        "first_load_s": round(loaded_s, 2),
        "texts": len(texts),
        "rounds": rounds,
        "threads": threads,
        "versions": {name: version(name) for name in ("onnxruntime", "tokenizers", "numpy")},
        "machine": {"cpus": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"},
    }


class Spent:
    """What one side took, in all."""

    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self.processor_s = 0.0

    async def add(self, work: Awaitable[Any]) -> None:
        """Await a piece of work and add what it took."""
        began, began_cpu = time.perf_counter(), time.process_time()
        await work
        self.elapsed_s += time.perf_counter() - began
        self.processor_s += time.process_time() - began_cpu


async def bare_loop(session: MiniLmSession, texts: Sequence[str]) -> None:
    """Embed without anything around it; it blocks, as it would in a script."""
    rows = session.tokenise(texts)
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    found = np.zeros((len(rows), 384), np.float32)
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        vectors = session.vectors([rows[index] for index in batch])
        found[batch] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


async def query_ms(embedder: OnnxEmbedder, label: str, count: int) -> list[float]:
    """Return the milliseconds of queries that are not in the cache."""
    found: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        await embedder.embed_query(f"{label}: where did we go in summer number {number}?")
        found.append((time.perf_counter() - began) * 1000)
    return found


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return the median and the 99th percentile."""
    return {"p50": round(statistics.median(values), 2), "p99": round(float(np.percentile(values, 99)), 2)}


if __name__ == "__main__":
    raise SystemExit(main())
