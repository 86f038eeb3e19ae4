"""Vectors are checked before anything is stored (S5)."""

from __future__ import annotations

import numpy as np
import pytest

from mesh.kernel.errors import InvalidArgument
from mesh.kernel.reasons import Reason
from mesh.models.attempts import Failure
from mesh.models.vectors import batches, checked_texts, joined, stored_vectors


def test_padding_keeps_cosines() -> None:
    rows = np.random.default_rng(1).standard_normal((5, 384)).astype(np.float32)
    stored = stored_vectors(rows.tolist(), count=5)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(stored @ stored.T, unit @ unit.T, atol=1e-5)


@pytest.mark.parametrize(
    "rows",
    [[], [[1.0]], [[1.0]] * 3, [[1.0], [1.0, 2.0]], [[], []], [[0.0], [1.0]], [[float("nan")], [1.0]], [["x"], ["y"]]],
)
def test_anything_but_two_good_rows_is_invalid_output(rows: list[list[float]]) -> None:
    with pytest.raises(Failure) as caught:
        stored_vectors(rows, count=2)
    assert caught.value.error.reason is Reason.MODEL_OUTPUT_INVALID


def test_larger_vectors_are_a_matter_of_configuration() -> None:
    with pytest.raises(Failure) as caught:
        stored_vectors([[1.0] * 769], count=1)
    assert caught.value.error.reason is Reason.CONFIGURATION_INVALID
    assert not caught.value.retryable


def test_no_texts_give_no_rows() -> None:
    assert joined([]).shape == (0, 768)
    assert stored_vectors([], count=0).shape == (0, 768)
    assert list(batches([])) == []


def test_batches_keep_order_and_bound() -> None:
    texts = [str(number) for number in range(70)]
    cut = list(batches(texts))
    assert [len(batch) for batch in cut] == [32, 32, 6]
    assert [text for batch in cut for text in batch] == texts


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_blank_text_is_named_by_its_index(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        checked_texts(["one", text])
    assert caught.value.details.violations[0].field == "texts[1]"
