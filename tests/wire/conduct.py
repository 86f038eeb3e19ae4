"""How a fake provider behaves when nothing is scripted: a plausible, deterministic model without any intelligence."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_WORD = re.compile(r"\w+")


class Conduct:
    """Answers, facts and vectors.

    Args:
        answers: a piece of the user's new message → the whole answer.
        watched: texts of which the model says that it read them, wherever in the prompt they stood: `I remember: Lviv.`
        facts: a piece of the prompt → the items that extraction answers for it.
    """

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}
        self.watched: list[str] = []
        self.facts: dict[str, list[Mapping[str, Any]]] = {}

    def answer(self, prompt: str, message: str) -> str:
        """Return the answer to a message; `prompt` is everything that the model was shown."""
        for piece, answer in self.answers.items():
            if piece in message:
                return answer
        last_line = (message.strip().splitlines() or ["nothing"])[-1]
        remembered = [text for text in self.watched if text in prompt]
        recalled = f" I remember: {', '.join(remembered)}." if remembered else ""
        return f"You said: {last_line}{recalled}"

    def extraction(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """Return the JSON text that extraction answers: the scripted items in the schema's list, all else minimal."""
        items = [item for piece, found in self.facts.items() if piece in prompt for item in found]
        value = _minimal(schema)
        lists = [name for name, of in schema.get("properties", {}).items() if _kind(of) == "array"]
        if lists:
            value[lists[0]] = items
        return json.dumps(value)

    @staticmethod
    def vector(text: str, size: int) -> list[float]:
        """Return a vector of length 1 that texts with the same words share: a sum of one direction for each word."""
        total = np.zeros(size)
        for word in _WORD.findall(text.lower()) or [text]:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            total += np.random.default_rng(seed).standard_normal(size)
        length = float(np.linalg.norm(total)) or 1.0
        return [round(float(number), 6) for number in total / length]


def pieces(text: str) -> tuple[str, ...]:
    """Return a text in pieces of up to three words, as a stream sends it."""
    words = re.findall(r"\s*\S+", text) or [text]
    return tuple("".join(words[start : start + 3]) for start in range(0, len(words), 3))


def count_tokens(texts: Sequence[str]) -> int:
    """Return the fake's own token count: words."""
    return sum(len(_WORD.findall(text)) for text in texts)


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "")
    return str(kind[0] if isinstance(kind, list) else kind).lower()


def _minimal(schema: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"array": [], "object": {}, "string": "", "number": 0, "integer": 0, "boolean": False}
    return {name: empty.get(_kind(of)) for name, of in schema.get("properties", {}).items()}
