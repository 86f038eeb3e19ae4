"""Options that several commands share. Light, since every command's help loads it."""

from __future__ import annotations

from typing import Annotated

import typer

UrlOption = Annotated[
    str,
    typer.Option("--url", help="Address of the mesh. Default: MNEMESH_URL, then the mesh that `mnemesh up` runs here."),
]
KeyOption = Annotated[str, typer.Option("--key", help="API key. Default: MNEMESH_API_KEY.")]
UserOption = Annotated[
    str,
    typer.Option("--user", help="UUID to speak as, where no key is asked for. Default: MNEMESH_USER_ID."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
