"""The service config of `service_config.json`: how long a method may take and whether it is retried.

Only methods whose repetition changes nothing are retried, and only for UNAVAILABLE; everything else is repeated by
callers that know a `request_id`. gRPC core reads the same text for retries and balancing. Timeouts are also read here,
because a call's deadline is the least of several limits and must never be missing.
Source: grpc/service_config.proto; AIP-194 for what is retried.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """What clients know of methods.

    Args:
        text: the JSON that gRPC core reads.
        timeouts_s: seconds by `/package.Service/Method`, and by `/package.Service/` for its other methods.
        retried: paths of methods that are retried.
    """

    text: str
    timeouts_s: Mapping[str, float]
    retried: frozenset[str]

    def timeout_s(self, path: str) -> float | None:
        """Return the timeout of a method, or None when the config does not name it."""
        own = self.timeouts_s.get(path)
        return own if own is not None else self.timeouts_s.get(path[: path.rindex("/") + 1])


@cache
def service_config() -> ServiceConfig:
    """Return the mesh's service config."""
    text = resources.files("mesh.rpc").joinpath("service_config.json").read_text(encoding="utf-8")
    parsed = json.loads(text)
    timeouts_s: dict[str, float] = {}
    retried: set[str] = set()
    for method in parsed["methodConfig"]:
        for name in method["name"]:
            path = _path(name)
            timeouts_s[path] = float(method["timeout"].removesuffix("s"))
            if "retryPolicy" in method:
                retried.add(path)
    return ServiceConfig(json.dumps(parsed), timeouts_s, frozenset(retried))


def _path(name: Mapping[str, Any]) -> str:
    return f"/{name['service']}/{name.get('method', '')}"
