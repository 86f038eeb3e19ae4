"""Prepares the built-in embedder while everything else starts, so that the first conversation finds it ready.

It is made once for a home, which takes a few seconds of processor time; a process of its own leaves the others alone.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from mesh.cli.home import Home
from mesh.cli.settings import inherited_environment
from mesh.models.minilm_files import quantised_model, quantised_name


def is_prepared(home: Home) -> bool:
    """Tell whether the embedder of a home was made before."""
    return (home.models / quantised_name()).exists()


async def prepare(home: Home) -> None:
    """Make the embedder of a home. That it fails is no reason not to start: memory tries itself, and says why."""
    with (home.log / "embedder.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "mesh.cli.embedder",
            str(home.models),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=inherited_environment(),
            start_new_session=True,
        )
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def main(directory: str) -> None:
    """Make the embedder in a directory."""
    with quantised_model(Path(directory)):
        pass


if __name__ == "__main__":
    main(sys.argv[1])
