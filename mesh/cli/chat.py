"""`mnemesh chat`: a conversation in the terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from mesh.cli.options import JsonOption, KeyOption, UrlOption, UserOption


def command(
    avatar: Annotated[
        str, typer.Option("--avatar", help="Name, readable id or uid of the avatar. Default: mia, then the newest.")
    ] = "",
    session: Annotated[str, typer.Option("--session", help="UUID of a session to go on in. Default: a new one.")] = "",
    url: UrlOption = "",
    key: KeyOption = "",
    user: UserOption = "",
    json_: JsonOption = False,
) -> None:
    """Talk to an avatar in this terminal.

    Lines that begin with / are commands; /help lists them. With a pipe as standard input every line is a message.

    Example: mnemesh chat --avatar mia

    Example: echo "Where do I live?" | mnemesh chat --json
    """
    from mesh.cli.caller import connect  # noqa: PLC0415 - help and completion must not wait for it
    from mesh.cli.chat_loop import chat  # noqa: PLC0415

    with connect(url, key, user) as client:
        chat(client, avatar, session, json_wanted=json_)
