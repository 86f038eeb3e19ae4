"""PostgreSQL, the servers and their workers on one machine: started, watched and stopped together."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from mesh.cli import embedder
from mesh.cli.banner import Banner, banner_lines, command_line, some_avatar
from mesh.cli.database import (
    POSTGRES,
    Database,
    DatabaseInfo,
    choose_database,
    runtime_url,
)
from mesh.cli.examples import seed_examples
from mesh.cli.home import Home, default_home, load_credentials, locate_home, locked, prepare_home, require_room
from mesh.cli.model_choice import BUILTIN, embedder_line, model_line, read_model_settings
from mesh.cli.output import err_console, out_console
from mesh.cli.plan import STOP_ORDER, Ports, choose_ports
from mesh.cli.problems import Problem
from mesh.cli.release import installed_version
from mesh.cli.schema_state import is_up_to_date, note_up_to_date
from mesh.cli.services import SERVICES, installed_services
from mesh.cli.settings import CliSettings, inherited_environment, read_settings
from mesh.cli.state_file import StateFile
from mesh.cli.stop_signals import StopSignals
from mesh.cli.supervisor import ChildSpec, Supervisor
from mesh.cli.up_screen import UpScreen

E = TypeVar("E", bound=BaseException)

SETTLE_S = 3.0
"""How long the processes of a mesh that was killed a moment ago may still hold their ports."""


def run_mesh(*, http_port: int | None, examples: bool, json_wanted: bool) -> None:
    """Run the mesh of this home until it is told to stop.

    Args:
        http_port: from the command line, or None.
        examples: whether to add the example avatars.
        json_wanted: True to print one line of JSON when everything is ready, instead of a banner.

    Raises:
        Problem: it cannot start, or does not stay up.
    """
    settings = read_settings()
    home = locate_home(settings)
    prepare_home(home)
    require_room(home)
    screen = UpScreen(err_console() if json_wanted else out_console(), json_wanted=json_wanted)
    with locked(home):
        try:
            asyncio.run(Up(settings, home, screen, http_port=http_port, examples=examples).run())
        except BaseExceptionGroup as group:
            problem = _first(group, Problem)
            if problem is None:
                raise
            raise problem from group


class Up:
    """One run of the mesh of a home.

    Args:
        settings: of this process.
        home: prepared and locked.
        screen: what is told.
        http_port: from the command line, or None.
        examples: whether to add the example avatars.
    """

    def __init__(
        self,
        settings: CliSettings,
        home: Home,
        screen: UpScreen,
        *,
        http_port: int | None,
        examples: bool,
    ) -> None:
        self._settings = settings
        self._home = home
        self._screen = screen
        self._models = read_model_settings()
        self._examples = examples
        self._services = installed_services()
        self._ports = choose_ports(settings, http_port, self._services, SETTLE_S)
        self._database: Database = choose_database(settings.database_url, home)
        self._supervisor = Supervisor(self)
        self._state = StateFile(
            home, {"http": f"http://{self._ports.reachable}:{self._ports.http}"}, self._ports.by_name()
        )
        self._embedder_prepared = asyncio.Event()
        self._lost: set[str] = set()

    async def run(self) -> None:
        """Start, watch until a signal comes, and stop.

        Raises:
            Problem: something does not start or does not stay up. May come inside of an exception group.
        """
        async with self._supervisor:
            with StopSignals(on_second=self._supervisor.kill) as signals:
                try:
                    await self._start_and_watch(signals)
                finally:
                    await self._stop()
        throwaway = self._settings.database_url.startswith("memory://")
        self._screen.remark("stopped; memory:// keeps nothing" if throwaway else "stopped; everything is kept")

    def started(self, name: str, pid: int) -> None:
        self._state.set_pid(name, pid)

    def ready(self, name: str) -> None:
        if name in self._lost:
            self._lost.discard(name)
            self._screen.remark(f"{name} is back")

    def ended(self, name: str, how: str, pause_s: float) -> None:
        self._lost.add(name)
        self._screen.remark(f"{name} ended ({how}); starting it again in {pause_s:.1f} s", "warn")

    async def _start_and_watch(self, signals: StopSignals) -> None:
        async with asyncio.TaskGroup() as group:
            aside = [group.create_task(self._prepare_embedder())]
            if started := await self._start_database_and_schemas(signals):
                info, specs = started
                for spec in specs:
                    self._supervisor.add(spec)
                aside.append(group.create_task(self._database.keep(self)))
                aside.append(group.create_task(self._start_children(info, specs, group)))
                await signals.wait()
            for task in aside:
                task.cancel()
            await self._stop_children()

    async def _start_database_and_schemas(self, signals: StopSignals) -> tuple[DatabaseInfo, list[ChildSpec]] | None:
        """Return the database and what to start on it, or None when a signal came meanwhile."""
        info = await self._start_database()
        specs = [] if signals.asked() else await self._migrate(info)
        return None if signals.asked() else (info, specs)

    async def _prepare_embedder(self) -> None:
        try:
            if self._models.embedding_provider() == BUILTIN and not embedder.is_prepared(self._home):
                await embedder.prepare(self._home)
        finally:
            self._embedder_prepared.set()

    async def _start_database(self) -> DatabaseInfo:
        with self._screen.step("postgres", "starting PostgreSQL") as step:
            info, _ = await asyncio.gather(
                asyncio.to_thread(self._database.start), asyncio.to_thread(_preload, self._home)
            )
            step.done_as = f"PostgreSQL {info.version} + pgvector {info.vector_version} ({info.place})"
        if info.pid:
            self._state.ports[POSTGRES] = info.port
            self._state.set_pid(POSTGRES, info.pid)
        return info

    async def _migrate(self, info: DatabaseInfo) -> list[ChildSpec]:
        names = ", ".join(service.name for service in self._services)
        with self._screen.step("migrate", f"migrating {names}") as step:
            urls = await asyncio.to_thread(self._prepare_schemas, info)
            step.done_as = f"migrated {names}"
        return self._children(urls)

    def _prepare_schemas(self, info: DatabaseInfo) -> dict[str, str]:
        """Migrate what has to be, and return the database URL of each server."""
        passwords = self._database.passwords(self._services)
        if not info.pid or not is_up_to_date(self._home, info, self._services, passwords):
            from mesh.cli.schemas import bring_up_to_date  # noqa: PLC0415 - Alembic is seldom needed, and slow to load

            bring_up_to_date(info, self._services, passwords)
            note_up_to_date(self._home, self._services)
        if self._examples:
            seed_examples(info)
        return {service.name: runtime_url(info, service, passwords[service.name]) for service in self._services}

    def _children(self, urls: Mapping[str, str]) -> list[ChildSpec]:
        from mesh.cli.children import Surroundings, child_specs  # noqa: PLC0415 - see `_preload`

        surroundings = Surroundings(inherited_environment(), load_credentials(self._home))
        return child_specs(self._services, self._ports, urls, self._home, surroundings)

    async def _start_children(self, info: DatabaseInfo, specs: list[ChildSpec], group: asyncio.TaskGroup) -> None:
        """Start the servers, and once they answer the workers, which nobody waits for."""
        servers = [spec.name for spec in specs if spec.ready is not None]
        workers = [spec.name for spec in specs if spec.ready is None]
        with self._screen.step("servers", f"starting {', '.join(servers)}") as step:
            for name in servers:
                group.create_task(self._supervisor.keep(name))
            await self._supervisor.wait_ready(servers)
            if self._embedder_prepared.is_set():
                await self._warm_up()
            step.done_as = _addresses(self._ports)
        if not self._embedder_prepared.is_set():
            with self._screen.step("embedder", "preparing the embedder, once") as step:
                await self._embedder_prepared.wait()
                await self._warm_up()
                step.done_as = "prepared the embedder, once"
        for name in workers:
            group.create_task(self._supervisor.keep(name))
        await self._supervisor.wait_ready(workers)
        await self._announce(info)

    async def _warm_up(self) -> None:
        from mesh.cli.warm_up import warm_up_memory  # noqa: PLC0415 - see `_preload`

        await warm_up_memory(self._ports.listen["memory"], load_credentials(self._home))

    async def _announce(self, info: DatabaseInfo) -> None:
        needs_key = self._settings.auth_mode == "api_key"
        url = self._state.urls["http"]
        avatar = "" if needs_key else await asyncio.to_thread(some_avatar, self._ports.reachable, self._ports.http)
        banner = Banner(
            http_url=url,
            model=model_line(self._models),
            embedder=embedder_line(self._models),
            chat_command=command_line(["chat", *self._chat_options()]),
            avatar_uid=avatar,
            needs_key=needs_key,
        )
        self._screen.ready(banner_lines(banner), self._report(info))

    def _chat_options(self) -> list[str]:
        usual = self._home.root == default_home(self._settings)
        return [] if usual else ["--url", self._state.urls["http"]]

    def _report(self, info: DatabaseInfo) -> dict[str, Any]:
        seconds = {**self._screen.seconds, "total": round(sum(self._screen.seconds.values()), 2)}
        return {
            "event": "ready",
            "home": str(self._home.root),
            **self._state.as_json(),
            "seconds": seconds,
            "versions": {
                "mnemesh": installed_version(),
                "python": platform.python_version(),
                "postgresql": info.version,
                "pgvector": info.vector_version,
            },
            "model": model_line(self._models),
            "embedder": embedder_line(self._models),
        }

    async def _stop_children(self) -> None:
        await self._supervisor.stop(STOP_ORDER)

    async def _stop(self) -> None:
        await self._stop_children()
        await asyncio.to_thread(self._database.stop)
        self._state.remove()


def _preload(home: Home) -> None:
    """Load gRPC, and Alembic for a new home, while PostgreSQL starts."""
    import_module("mesh.cli.children")
    import_module("mesh.cli.warm_up")
    if not home.credentials.exists():
        import_module("mesh.cli.schemas")


def _addresses(ports: Ports) -> str:
    numbers = ports.by_name()
    parts = [f"gateway :{numbers['http']} HTTP, :{numbers['gateway']} gRPC"]
    parts += [f"{service.name} :{numbers[service.name]}" for service in SERVICES[1:]]
    return " · ".join(parts)


def _first(group: BaseExceptionGroup[BaseException], kind: type[E]) -> E | None:
    """Return the first error of a kind in a group, however deep it is."""
    for error in group.exceptions:
        found = _first(error, kind) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, kind):
            return found
    return None
