"""The loop of `mnemesh chat`: lines in, answers and the effects of commands out.

Standard input may be a pipe: each line is a message or a command, and the transcript is printed as a person would see
it.
"""

from __future__ import annotations

import sys
import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mesh.cli.chat_screen import ChatScreen, JsonScreen, TextScreen
from mesh.cli.conversation import Conversation, avatar_of_session, choose_avatar, list_avatars
from mesh.cli.http_client import MeshClient
from mesh.cli.output import is_interactive
from mesh.cli.problems import ExitCode, Problem

HELP = """/memory       what is remembered about you
/forget KEY   delete what is remembered under a key, and the words it was learned from
/why          what memory finds for your last message, and why
/new          a new session with the same avatar; what was said stays remembered
/quit         leave (or Ctrl-D)"""


def chat(client: MeshClient, avatar: str, session: str, *, json_wanted: bool) -> None:
    """Talk until the input ends.

    Args:
        client: of the mesh.
        avatar: name, readable id or uid; empty means the usual one.
        session: UUID of a session to go on in, or empty for a new one.
        json_wanted: True to print JSON instead of a transcript.
    """
    wanted = avatar_of_session(client, session) if session else avatar
    conversation = Conversation(client, choose_avatar(list_avatars(client), wanted), session, local_time_zone())
    screen: ChatScreen = JsonScreen() if json_wanted else TextScreen(conversation.avatar, echo=not is_interactive())
    Chat(conversation, screen).run(_lines(screen))


class Chat:
    """The loop of a conversation.

    Args:
        conversation: with the avatar.
        screen: what it is shown on.
    """

    def __init__(self, conversation: Conversation, screen: ChatScreen) -> None:
        self._conversation = conversation
        self._screen = screen
        self._last_text = ""
        self._failed = False
        self._commands: Mapping[str, Callable[[str], None]] = {
            "/memory": self._memory,
            "/forget": self._forget,
            "/why": self._why,
            "/new": self._new,
            "/help": self._help,
        }

    def run(self, lines: Iterator[str]) -> None:
        """Take lines until they end or one of them is `/quit`.

        Raises:
            Problem: the mesh cannot be talked to, or, from a pipe, a message was refused.
        """
        self._screen.opened(self._conversation.session_id)
        for line in lines:
            text = line.strip()
            if text in {"/quit", "/exit"}:
                break
            if text:
                self._take(text)

    def _take(self, text: str) -> None:
        self._screen.said(text)
        try:
            self._obey(text) if text.startswith("/") else self._say(text)
        except KeyboardInterrupt:
            self._screen.remark("stopped listening; the answer is still finished and kept")
        except Problem as problem:
            if not is_interactive():
                raise
            self._screen.remark(str(problem))

    def _obey(self, text: str) -> None:
        name, _, argument = text.partition(" ")
        action = self._commands.get(name)
        if action is None:
            self._screen.remark(f"{name} is no command; /help lists them")
        else:
            action(argument.strip())

    def _say(self, text: str) -> None:
        self._last_text = text
        result = self._conversation.say(text, self._screen.answering())
        self._screen.answered(result, self._conversation.learned_from(result.turn_id))

    def _memory(self, _argument: str) -> None:
        self._screen.facts(self._conversation.facts())

    def _forget(self, key: str) -> None:
        if key:
            self._screen.forgotten(key, self._conversation.forget(key))
        else:
            self._screen.remark("name a key, as in /forget home_city; /memory lists them")

    def _why(self, _argument: str) -> None:
        if self._last_text:
            self._screen.why(self._conversation.why(self._last_text))
        else:
            self._screen.remark("say something first")

    def _new(self, _argument: str) -> None:
        self._screen.opened(self._conversation.renew())

    def _help(self, _argument: str) -> None:
        for line in HELP.splitlines():
            self._screen.remark(line)


def local_time_zone() -> str:
    """Return the IANA name of this machine's time zone, or an empty text when it cannot be told."""
    try:
        name = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2]
        return name if name in zoneinfo.available_timezones() else ""
    except OSError:
        return ""


def _lines(screen: ChatScreen) -> Iterator[str]:
    if not is_interactive():
        yield from sys.stdin
        return

    while True:
        try:
            yield input(screen.prompt())
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            raise SystemExit(ExitCode.INTERRUPTED) from None
