"""Logs of children: turned over at a start, and readable at their end."""

from __future__ import annotations

import json
from pathlib import Path

from mesh.cli.log_files import KEPT, last_lines, turn_over


def test_a_start_begins_a_new_file_and_keeps_a_few_old_ones(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    for number in range(KEPT + 3):
        turn_over(log)
        log.write_text(f"run {number}")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "engine.log": f"run {KEPT + 2}",
        **{f"engine.log.{age}": f"run {KEPT + 2 - age}" for age in range(1, KEPT + 1)},
    }


def test_the_end_of_a_log_is_its_messages(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    entries = [json.dumps({"level": "INFO", "message": f"line {n}"}) for n in range(5)]
    log.write_text("\n".join([*entries, "Traceback (most recent call last):", ""]))
    assert last_lines(log, 3) == ("line 3", "line 4", "Traceback (most recent call last):")


def test_an_exception_is_its_last_line(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    trace = "Traceback (most recent call last):\n  File ...\nValueError: no such model"
    log.write_text(json.dumps({"message": "the process failed", "exception": trace}) + "\n")
    assert last_lines(log, 3) == ("the process failed: ValueError: no such model",)


def test_a_log_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "none.log", 3) == ()
