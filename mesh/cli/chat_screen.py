"""How a conversation looks in a terminal, and as lines of JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from rich.console import Console

from mesh.cli.conversation import Avatar
from mesh.cli.http_client import Transient
from mesh.cli.output import out_console, print_json
from mesh.cli.stream_writer import StreamWriter, printable
from mesh.cli.turns import SilentView, TurnResult, TurnView
from mesh.cli.waiting import Waiting

MOST_SOURCES = 3
QUOTE_LENGTH = 70
SHORT_ID = 4
COMMANDS_LINE = "/memory /forget /why /new /help /quit"


class ChatScreen(Protocol):
    """What the conversation is shown on."""

    def opened(self, session_id: str) -> None:
        """Show that a session begins or goes on."""

    def prompt(self) -> str:
        """Return what stands before the words that are typed."""

    def said(self, text: str) -> None:
        """Take note of what the user said."""

    def answering(self) -> TurnView:
        """Return who watches the next turn."""

    def answered(self, result: TurnResult, learned: Sequence[Mapping[str, Any]]) -> None:
        """Show the end of a turn: what was recalled for it and what was learned from it."""

    def facts(self, facts: Sequence[Mapping[str, Any]]) -> None:
        """Show what is remembered."""

    def forgotten(self, key: str, facts: Sequence[Mapping[str, Any]]) -> None:
        """Show what was deleted."""

    def why(self, answer: Mapping[str, Any]) -> None:
        """Show what memory finds, with the parts of each score."""

    def remark(self, text: str) -> None:
        """Show a remark of the terminal's own."""


class TextScreen:
    """For people.

    Args:
        avatar: who answers.
        echo: True to print what the user says, because it was not typed here.
        console: where to print.
    """

    def __init__(self, avatar: Avatar, *, echo: bool, console: Console | None = None) -> None:
        self._echo = echo
        self._console = console or out_console()
        self._name = printable(avatar.name)
        self._width = max(len("you"), len(self._name)) + 2
        self._indent = self._width + 2
        self._session_id = ""

    def opened(self, session_id: str) -> None:
        self._session_id = session_id
        self._print(f"{self._name} · session {session_id[:SHORT_ID]} · {COMMANDS_LINE}", "dim")

    def prompt(self) -> str:
        return self._label("you")

    def said(self, text: str) -> None:
        if self._echo:
            self._print(self._label("you") + printable(text))

    def answering(self) -> TurnView:
        return _Answer(self._console, self._label(self._name), self._indent)

    def answered(self, result: TurnResult, learned: Sequence[Mapping[str, Any]]) -> None:
        if learned:
            self._note("learned: " + " · ".join(_pair(fact) for fact in learned))
        sources = _sources(result, self._session_id)
        if sources:
            self._note("from: " + " · ".join(sources))
        for arm in result.context.get("skipped", []):
            self._note(f"without {arm.get('arm', 'a part')} ({arm.get('reason', 'late')})")

    def facts(self, facts: Sequence[Mapping[str, Any]]) -> None:
        if not facts:
            self._note("nothing is remembered yet")
        for fact in facts:
            told = _day(fact.get("observeTime", ""))
            self._note(_pair(fact) + (f"   ({told})" if told else ""))

    def forgotten(self, key: str, facts: Sequence[Mapping[str, Any]]) -> None:
        if not facts:
            self._note(f"nothing is remembered under {printable(key)!r}; /memory lists what is")
        for fact in facts:
            chunks = int(fact.get("chunksDeleted", 0))
            passages = f", and {chunks} passage{'s' if chunks > 1 else ''} it was learned from" if chunks else ""
            self._note(f"forgot: {_pair(fact)}{passages}")

    def why(self, answer: Mapping[str, Any]) -> None:
        results = answer.get("results", [])
        if not results:
            self._note("memory holds nothing about that")
        for result in results:
            self._note(f"{_what(result)}   score {float(result.get('score', 0)):.2f}")
            for part in result.get("parts", []):
                value, added = float(part.get("value", 0)), float(part.get("contribution", 0))
                if value == added == 0:
                    continue
                self._note(f"  {part.get('arm', ''):<12}{value:>8.2f}  adds {added:+.2f}")
        for arm in answer.get("degraded", []):
            self._note(f"without {arm.get('arm', '')} ({arm.get('reason', '')})")

    def remark(self, text: str) -> None:
        self._note(text)

    def _label(self, name: str) -> str:
        return f"{name:<{self._width}}▸ "

    def _note(self, text: str) -> None:
        lines: list[str] = []
        width = self._console.width if self._console.is_terminal else None
        writer = StreamWriter(lines.append, width=width, indent=self._indent)
        writer.feed(text)
        writer.close()
        self._print(" " * self._indent + "".join(lines).rstrip("\n"), "dim")

    def _print(self, text: str, style: str = "") -> None:
        self._console.print(text, style=style, markup=False, soft_wrap=True)


class _Answer:
    """Shows one answer as it comes."""

    def __init__(self, console: Console, label: str, indent: int) -> None:
        self._console = console
        self._label = label
        self._indent = indent
        self._writer: StreamWriter | None = None
        self._waiting = Waiting(console, "waiting for the answer")
        self._waiting.start()

    def context(self, context: Mapping[str, Any]) -> None:
        pass

    def text(self, piece: str) -> None:
        if self._writer is None:
            self._waiting.end()
            self._console.print(self._label, style="name", end="", markup=False)
            width = self._console.width if self._console.is_terminal else None
            self._writer = StreamWriter(self._write, width=width, indent=self._indent)
        self._writer.feed(piece)
        self._console.file.flush()

    def restart(self) -> None:
        self.ended()

    def waiting(self, problem: Transient) -> None:
        self.ended()
        self._console.print(f"{' ' * self._indent}{problem.message}; trying again", style="warn", markup=False)

    def _write(self, text: str) -> None:
        self._console.file.write(text)

    def ended(self) -> None:
        self._waiting.end()
        if self._writer is not None:
            self._writer.close()
            self._console.file.flush()
            self._writer = None


class JsonScreen:
    """For programs: one JSON object a turn or command, each on its line."""

    def __init__(self) -> None:
        self._text = ""

    def opened(self, session_id: str) -> None:
        print_json({"sessionId": session_id})

    def prompt(self) -> str:
        return ""

    def said(self, text: str) -> None:
        self._text = text

    def answering(self) -> TurnView:
        return SilentView()

    def answered(self, result: TurnResult, learned: Sequence[Mapping[str, Any]]) -> None:
        print_json(
            {
                "turnId": result.turn_id,
                "text": self._text,
                "answer": result.text,
                "model": result.start.get("model", {}),
                "context": result.context,
                "learned": list(learned),
            }
        )

    def facts(self, facts: Sequence[Mapping[str, Any]]) -> None:
        print_json({"facts": list(facts)})

    def forgotten(self, key: str, facts: Sequence[Mapping[str, Any]]) -> None:
        print_json({"key": key, "forgotten": list(facts)})

    def why(self, answer: Mapping[str, Any]) -> None:
        print_json(answer)

    def remark(self, text: str) -> None:
        print_json({"remark": text})


def _pair(fact: Mapping[str, Any]) -> str:
    subject = str(fact.get("subject", "user"))
    owner = "" if subject in {"", "user"} else subject.removeprefix("user.") + " "
    return f"{owner}{fact.get('key', '')} = {fact.get('value', '')}"


def _sources(result: TurnResult, session_id: str) -> list[str]:
    """Return the recalled facts that the answer repeats, or else the best evidence."""
    answer = result.text.casefold()
    facts = [item["fact"] for item in result.context.get("facts", []) if "fact" in item]
    told = [fact for fact in facts if str(fact.get("value", "")).casefold() in answer]
    if told:
        return [f"{_pair(fact)} ({_place(fact, session_id)})" for fact in told[:MOST_SOURCES]]
    chunks = [item["chunk"] for item in result.context.get("chunks", []) if "chunk" in item]
    return [f"“{_quote(chunk.get('text', ''))}” ({_day(chunk.get('sentTime', ''))})" for chunk in chunks[:1]]


def _place(fact: Mapping[str, Any], session_id: str) -> str:
    source = fact.get("source") or {}
    origin = str(source.get("sessionId", ""))
    where = (
        "told directly" if not origin else "this session" if origin == session_id else f"session {origin[:SHORT_ID]}"
    )
    day = _day(fact.get("observeTime", ""))
    return f"{where}, {day}" if day else where


def _what(result: Mapping[str, Any]) -> str:
    if "fact" in result:
        return _pair(result["fact"])
    chunk = result.get("chunk", {})
    return f"“{_quote(chunk.get('text', ''))}”"


def _quote(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= QUOTE_LENGTH else line[: QUOTE_LENGTH - 1].rstrip() + "…"


def _day(instant: str) -> str:
    try:
        moment = datetime.fromisoformat(instant).astimezone()
    except ValueError:
        return ""
    return f"{moment.day} {moment:%B %Y}"
