"""Dialogues in the format of LoCoMo (Maharana et al., ACL 2024): read, and scored by evidence.

The data is for measuring only and stays outside of the repository. Nothing here depends on what it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

CUTS = (5, 10, 20, 50)
CATEGORIES: Mapping[int, str] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}

_SESSION = re.compile(r"session_(\d+)")
_DIA_ID = re.compile(r"D\d+:\d+")
_DATE = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that hold its evidence, only those that exist."""

    text: str
    evidence: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A dialogue and its questions.

    Args:
        name: of the sample.
        messages: as `DialogMessage` in JSON, in order.
        questions: those that have evidence.
    """

    name: str
    messages: Sequence[Mapping[str, Any]]
    questions: Sequence[Question]


def read_samples(path: Path) -> list[Sample]:
    """Return the samples of a file."""
    return [_sample(raw, number) for number, raw in enumerate(json.loads(path.read_text(encoding="utf-8")))]


def session_time(text: str) -> datetime:
    """Return the instant in a text such as `1:56 pm on 8 May, 2023`, as UTC.

    Raises:
        ValueError: the text has another form.
    """
    return datetime.strptime(" ".join(text.split()), _DATE).replace(tzinfo=UTC)


def evidence_ids(entries: Sequence[str], existing: frozenset[str]) -> frozenset[str]:
    """Return the turns that evidence entries name; an entry may hold several, and some name none that exists."""
    return frozenset(name for entry in entries for name in _DIA_ID.findall(str(entry))) & existing


def recall_at(ranking: Sequence[str], evidence: frozenset[str], cut: int) -> float:
    """Return the share of the evidence among the first results. The ranking holds each turn once."""
    return len(evidence & set(ranking[:cut])) / len(evidence)


def hit_at(ranking: Sequence[str], evidence: frozenset[str], cut: int) -> float:
    """Return 1 when any of the evidence is among the first results, else 0."""
    return float(bool(evidence & set(ranking[:cut])))


def _sample(raw: Mapping[str, Any], number: int) -> Sample:
    messages = list(_messages(raw["conversation"]))
    existing = frozenset(str(message["sourceId"]) for message in messages)
    questions = [
        Question(entry["question"], evidence, CATEGORIES.get(entry["category"], str(entry["category"])))
        for entry in raw["qa"]
        if (evidence := evidence_ids(entry.get("evidence", []), existing))
    ]
    return Sample(str(raw.get("sample_id", number)), messages, questions)


def _messages(conversation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    for number in numbers:
        began = session_time(conversation[f"session_{number}_date_time"])
        for place, turn in enumerate(conversation[f"session_{number}"]):
            message = {
                "sourceId": turn["dia_id"],
                "speaker": turn["speaker"],
                "text": turn["text"],
                "session": str(number),
                # Turns have no times of their own; a second each keeps their order.
                "sentTime": (began + timedelta(seconds=place)).isoformat(),
            }
            if turn.get("blip_caption"):
                message["imageCaption"] = turn["blip_caption"]
            yield message
