"""MiniLM in the ONNX runtime, synchronous: texts to token ids, token ids to vectors. Nothing here knows of asyncio.

Texts are cut at 256 tokens, the length that the model was trained with; what follows does not count towards the vector.
Source: model card of sentence-transformers/all-MiniLM-L6-v2 (mean pooling over the tokens that are not padding).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from tokenizers import Tokenizer

from mesh.models.minilm_files import quantised_model, tokenizer_text

MAX_TOKENS = 256
MAX_CHARS = 16_384
"""Characters that are tokenised: natural text has more than 256 tokens in them, and a huge one costs no more."""


class MiniLmSession:
    """A loaded model. Use it from one thread at a time.

    Args:
        cache_dir: where the quantised model is kept.
        threads: threads that one batch uses.
    """

    def __init__(self, cache_dir: Path, threads: int) -> None:
        self._tokenizer: Any = Tokenizer.from_str(tokenizer_text())
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        with quantised_model(cache_dir) as path:
            self._session = ort.InferenceSession(
                path.read_bytes(), _session_options(threads), providers=["CPUExecutionProvider"]
            )
        self._inputs = {given.name for given in self._session.get_inputs()}

    def tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, at most 256."""
        cut = [text[:MAX_CHARS] for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(cut)]

    def vectors(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the mean-pooled vectors of one batch, `[len(rows), 384] float32`, not normalised.

        Args:
            rows: token ids of each text, of similar lengths, since all are padded to the longest.
        """
        ids, mask = _padded(rows)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        weights = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
        pooled: NDArray[np.float32] = np.matmul(weights[:, None, :], hidden)[:, 0, :]
        return pooled


def _padded(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    longest = max(len(row) for row in rows)
    ids = np.zeros((len(rows), longest), np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return ids, mask


def _session_options(threads: int) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    # Spin inside a run and not after it: a query then takes 10 ms of processor time instead of 20, at the same speed.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return options
