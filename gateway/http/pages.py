"""The few paths that are no RPC: an index, a list of routes, liveness, readiness."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from html import escape
from typing import TypeAlias

import orjson
from starlette.responses import HTMLResponse, Response

from gateway.http.transcode import Route
from mnemesh.common.v1 import authorization_pb2

Page: TypeAlias = Callable[[], Awaitable[Response]]
Readiness: TypeAlias = Callable[[], Awaitable[Mapping[str, bool]]]

_NO_STORE = {"Cache-Control": "no-store"}
_DOCS_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .3rem .8rem .3rem 0; }
tr { border-bottom: 1px solid #8884; } code { font: 14px ui-monospace, monospace; }
:root { color-scheme: light dark; }
"""


def pages(routes: Iterable[Route], readiness: Readiness) -> dict[str, Page]:
    """Return the pages by path.

    Args:
        routes: what `/docs` lists.
        readiness: returns, within a bound of its own, what the gateway needs and whether it is there.
    """
    listing = HTMLResponse(_docs(routes), headers=_DOCS_HEADERS)

    async def docs() -> Response:
        return listing

    async def ready() -> Response:
        checks = await readiness()
        is_ready = all(checks.values())
        body = {
            "status": "ready" if is_ready else "not ready",
            "checks": {name: "ok" if good else "unavailable" for name, good in checks.items()},
        }
        return _json(body, 200 if is_ready else 503)

    return {"/": _index, "/docs": docs, "/healthz": _alive, "/readyz": ready}


async def _index() -> Response:
    links = {
        "docs": "/docs",
        "avatars": "/v1/avatars",
        "sessions": "/v1/sessions",
        "facts": "/v1/memory/facts",
        "live": "/healthz",
        "ready": "/readyz",
    }
    return _json({"name": "mnemesh", "links": links})


async def _alive() -> Response:
    return _json({"status": "alive"})


def _json(body: Mapping[str, object], status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, _NO_STORE, "application/json")


def _docs(routes: Iterable[Route]) -> str:
    ordered = sorted(routes, key=lambda route: (route.method.containing_service.full_name, route.template.text))
    rows = "\n".join(_row(route) for route in ordered)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Mnemesh routes</title><style>{_STYLE}</style></head><body>
<h1>Mnemesh</h1>
<p>Every route below is an RPC of the contracts in <code>proto/</code>: fields are in lowerCamelCase, errors are
<code>application/problem+json</code>, streams are <code>text/event-stream</code> or <code>application/x-ndjson</code>
by <code>Accept</code>.</p>
<table><thead><tr><th>Method</th><th>Path</th><th>RPC</th><th>Scope</th></tr></thead><tbody>
{rows}
</tbody></table></body></html>
"""


def _row(route: Route) -> str:
    scope = route.method.GetOptions().Extensions[authorization_pb2.scope]
    stream = " (stream)" if route.streams else ""
    cells = (
        f"<code>{escape(route.verb)}</code>",
        f"<code>{escape(route.template.text)}</code>",
        f"{escape(route.method.full_name)}{stream}",
        f"<code>{escape(scope)}</code>",
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
