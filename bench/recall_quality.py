"""P9: evidence recall on dialogues in LoCoMo's format, through the public HTTP interface of a mesh of its own.

    python bench/recall_quality.py --data FILE [--json] [--limit N]

Each sample is one user. Its turns are ingested in order with their dates; then every question with evidence is asked,
and the ranked chunks are compared with the turns that hold the evidence. Several pieces of one turn count once, at the
best of their places.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from locomo import CUTS, Question, Sample, hit_at, read_samples, recall_at

from mesh.cli.http_client import MeshClient
from mesh.cli.turns import with_patience
from mesh.testing.running_mesh import RunningMesh

BATCH_SIZE = 200
RESULTS = 50
VECTORS_WAIT_S = 300.0
VECTORS_POLL_S = 0.2
_NAMESPACE = uuid.UUID("2f9be30f-8c1f-4b07-9d59-6c6f636f6d6f")


@dataclass
class Scores:
    """What was measured so far."""

    rankings: list[tuple[Question, list[str]]] = field(default_factory=list)
    query_ms: list[float] = field(default_factory=list)
    messages: int = 0
    ingest_s: float = 0.0

    def report(self) -> dict[str, Any]:
        """Return the line of `--json`."""
        by_category: dict[str, list[tuple[Question, list[str]]]] = {}
        for pair in self.rankings:
            by_category.setdefault(pair[0].category, []).append(pair)
        return {
            **_means(self.rankings),
            "by_category": {name: _means(pairs) for name, pairs in sorted(by_category.items())},
            "questions": len(self.rankings),
            "ingest_per_s": round(self.messages / self.ingest_s, 1) if self.ingest_s else 0.0,
            "query_ms": {"p50": _percentile(self.query_ms, 0.50), "p99": _percentile(self.query_ms, 0.99)},
        }


def main() -> int:
    """Measure and print."""
    arguments = _arguments()
    samples = read_samples(arguments.data)
    scores = Scores()
    with RunningMesh() as mesh:
        for sample, questions in _limited(samples, arguments.limit):
            user_id = str(uuid.uuid5(_NAMESPACE, sample.name))
            with mesh.client(user_id) as client:
                _say(arguments, f"{sample.name}: {len(sample.messages)} turns, {len(questions)} questions")
                ingest(client, sample, scores)
                for question in questions:
                    scores.rankings.append((question, ask(client, question, scores)))
    report = scores.report()
    print(json.dumps(report) if arguments.json else _table(report))
    return 0


def ingest(client: MeshClient, sample: Sample, scores: Scores) -> None:
    """Store a dialogue, and wait until every turn can be found by meaning too."""
    started = time.monotonic()
    batches = [sample.messages[start : start + BATCH_SIZE] for start in range(0, len(sample.messages), BATCH_SIZE)]
    for batch in batches:
        _store(client, batch)
    while any(_store(client, batch) for batch in batches):
        if time.monotonic() - started > VECTORS_WAIT_S:
            raise TimeoutError("vectors are still missing")
        time.sleep(VECTORS_POLL_S)
    scores.messages += len(sample.messages)
    scores.ingest_s += time.monotonic() - started


def ask(client: MeshClient, question: Question, scores: Scores) -> list[str]:
    """Return the turns that are recalled for a question, best first, each once."""
    body = {"query": question.text, "kinds": ["CHUNK"], "limit": RESULTS}
    started = time.perf_counter()
    answer = client.post("/v1/memory:recall", body)
    scores.query_ms.append((time.perf_counter() - started) * 1000)
    return list(dict.fromkeys(result["chunk"]["sourceId"] for result in answer.get("results", [])))


def _store(client: MeshClient, batch: Sequence[Mapping[str, Any]]) -> int:
    """Store messages again or for the first time, and return how many vectors are missing."""
    body = {"messages": list(batch), "requestId": str(uuid.uuid4())}
    answer = with_patience(lambda: client.post("/v1/memory/chunks:ingest", body))
    return int(answer.get("pendingVectors", 0))


def _limited(samples: Sequence[Sample], limit: int) -> Iterator[tuple[Sample, Sequence[Question]]]:
    left = limit or sum(len(sample.questions) for sample in samples)
    for sample in samples:
        if left > 0:
            yield sample, sample.questions[:left]
        left -= len(sample.questions)


def _means(pairs: Sequence[tuple[Question, list[str]]]) -> dict[str, Any]:
    def mean(score: Any, cut: int) -> float:
        values = [score(ranking, question.evidence, cut) for question, ranking in pairs]
        return round(statistics.fmean(values), 4) if values else 0.0

    return {
        "recall_at": {str(cut): mean(recall_at, cut) for cut in CUTS},
        "hit_at": {str(cut): mean(hit_at, cut) for cut in CUTS},
    }


def _percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0


def _table(report: Mapping[str, Any]) -> str:
    rows = [("all", report), *report["by_category"].items()]
    lines = [f"{'evidence recall':<16}" + "".join(f"{'@' + str(cut):>8}" for cut in CUTS) + f"{'hit@10':>9}"]
    for name, scores in rows:
        recalls = "".join(f"{scores['recall_at'][str(cut)]:>8.3f}" for cut in CUTS)
        lines.append(f"{name:<16}{recalls}{scores['hit_at']['10']:>9.3f}")
    times = report["query_ms"]
    lines.append(f"{report['questions']} questions, p50 {times['p50']} ms, p99 {times['p99']} ms")
    lines.append(f"{report['ingest_per_s']} turns ingested a second, vectors included")
    return "\n".join(lines)


def _say(arguments: argparse.Namespace, text: str) -> None:
    if not arguments.json:
        print(text, file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Evidence recall on dialogues in LoCoMo's format (P9).")
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's format")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument("--limit", type=int, default=0, help="ask only so many questions")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
