"""The names of the files are the history: numbers in order, a stage each."""

from __future__ import annotations

from pathlib import Path

import pytest

from mesh.db.revisions import head, history, last_pre


def folder(tmp_path: Path, *names: str) -> Path:
    versions = tmp_path / "versions"
    versions.mkdir()
    for name in names:
        (versions / name).touch()
    return tmp_path


def test_history_is_in_the_order_of_numbers(tmp_path: Path) -> None:
    where = folder(tmp_path, "0002_post_b.py", "0001_pre_a.py", "0003_pre_c.py", "__init__.py")
    assert [(revision.number, revision.stage) for revision in history(where)] == [
        ("0001", "pre"),
        ("0002", "post"),
        ("0003", "pre"),
    ]


def test_servers_need_the_last_pre_and_migrations_go_to_the_head(tmp_path: Path) -> None:
    where = folder(tmp_path, "0001_pre_a.py", "0002_pre_b.py", "0003_post_c.py")
    assert (last_pre(where), head(where)) == ("0002", "0003")


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ((), "no revisions"),
        (("0001_a.py",), "is not named"),
        (("1_pre_a.py",), "is not named"),
        (("0001_pre_A.py",), "is not named"),
        (("0001_pre_a.py", "0001_post_b.py"), "two revisions"),
    ],
)
def test_folder_that_tells_no_history_is_refused(tmp_path: Path, names: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        history(folder(tmp_path, *names))
