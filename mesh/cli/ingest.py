"""`mnemesh ingest`: a dialogue from a file."""

from __future__ import annotations

from typing import Annotated

import typer

from mesh.cli.options import JsonOption, KeyOption, UrlOption, UserOption


def command(
    file: Annotated[str, typer.Argument(help="File of JSON Lines, or - for standard input.")],
    dialog: Annotated[
        str, typer.Option("--dialog", help="Key of the dialog. Default: your dialog with the avatar.")
    ] = "",
    avatar: Annotated[str, typer.Option("--avatar", help="uid of the avatar that the dialog belongs to.")] = "",
    url: UrlOption = "",
    key: KeyOption = "",
    user: UserOption = "",
    json_: JsonOption = False,
) -> None:
    """Remember a dialogue from a file of JSON Lines.

    Each line is a message with source_id, text and sent_time, and optionally speaker, session, direction and
    image_caption. Running it again is safe: messages that are stored already are counted as unchanged.

    Example: mnemesh ingest examples/dialogue.jsonl
    """
    from mesh.cli.caller import connect  # noqa: PLC0415 - help and completion must not wait for it
    from mesh.cli.ingestion import ingest, print_report, read_file  # noqa: PLC0415

    lines = read_file(file)
    target = {name: value for name, value in (("dialogKey", dialog), ("avatarId", avatar)) if value}
    with connect(url, key, user) as client:
        print_report(ingest(client, lines, target, file), json_wanted=json_)
