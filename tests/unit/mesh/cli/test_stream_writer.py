"""Answers on a terminal: wrapped at words, indented, and without anything that steers the terminal."""

from __future__ import annotations

import pytest

from mesh.cli.stream_writer import StreamWriter, printable


def write(pieces: list[str], width: int | None = None, indent: int = 4) -> str:
    out: list[str] = []
    writer = StreamWriter(out.append, width=width, indent=indent)
    for piece in pieces:
        writer.feed(piece)
    writer.close()
    return "".join(out)


def test_a_word_cut_between_two_pieces_stays_one_word() -> None:
    assert write(["you live in Ly", "on now"], width=20) == "you live in Lyon\n    now\n"


def test_no_line_is_longer_than_the_terminal() -> None:
    text = "one two three four five six seven eight nine ten " * 4
    lines = write(list(text), width=24, indent=7).splitlines()
    assert all(len(line) <= 24 for line in lines[1:])
    assert len(lines[0]) <= 24 - 7
    assert all(line.startswith(" " * 7) for line in lines[1:])


def test_without_a_terminal_nothing_is_wrapped() -> None:
    text = "word " * 100
    assert write([text]) == text.rstrip() + "\n"


def test_line_breaks_of_the_answer_are_kept_and_indented() -> None:
    assert write(["a\n\n- b\n", "- c"]) == "a\n    \n    - b\n    - c\n"


def test_wide_characters_count_twice() -> None:
    assert write(["日本 語"], width=10, indent=4) == "日本\n    語\n"


def test_a_text_without_spaces_is_not_held_back() -> None:
    out: list[str] = []
    StreamWriter(out.append, width=80, indent=0).feed("日" * 30)
    assert "".join(out) == "日" * 30


@pytest.mark.parametrize("evil", ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\u202e", "a\rb", "\x00"])
def test_characters_that_steer_a_terminal_are_removed(evil: str) -> None:
    shown = printable(f"x{evil}y")
    assert not set(shown) & set("\x1b\x07\x9b\u202e\r\x00")
    assert shown[0] == "x"
    assert shown[-1] == "y"
