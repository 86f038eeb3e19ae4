"""A PostgreSQL that a test may stop. `python -m tests.contract.engine.own_postgres start|stop DIRECTORY`.

Starting one forks, which a process with running gRPC threads must not do, so it is done by a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from engine.schema import SCHEMA
from mesh.db.embedded import EmbeddedPostgres
from mesh.db.migrate import migrate
from mesh.db.settings import EmbeddedSettings


@dataclass
class OwnPostgres:
    """The server of one directory, with the engine's schema."""

    directory: Path
    admin_url: str = ""
    url: str = ""

    async def start(self) -> None:
        self.admin_url, self.url = json.loads(await self._run("start"))

    async def stop(self) -> None:
        await self._run("stop")

    async def _run(self, command: str) -> bytes:
        environment = {name: value for name, value in os.environ.items() if name.startswith("MNEMESH_PG_")}  # noqa: TID251
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.contract.engine.own_postgres",
            command,
            str(self.directory),
            stdout=asyncio.subprocess.PIPE,
            env={"PYTHONPATH": os.pathsep.join(sys.path), **environment},
        )
        output, _ = await process.communicate()
        assert process.returncode == 0, f"PostgreSQL did not {command}"
        return output


def main(command: str, directory: str) -> None:
    server = EmbeddedPostgres(Path(directory), EmbeddedSettings.from_environ(os.environ, durable=False))  # noqa: TID251
    if command == "stop":
        server.stop()
        return
    running = server.start()
    migrate(running.admin_url, [SCHEMA], passwords=server.passwords(["engine"]))
    print(json.dumps([running.admin_url, server.service_url(running, "engine")]))


if __name__ == "__main__":
    main(*sys.argv[1:])
