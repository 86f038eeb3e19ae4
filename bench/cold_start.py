"""P11: from `mnemesh up` to the first answered turn over HTTP, on an empty directory and on a used one.

    python bench/cold_start.py [--repeat N]

Prints one line of JSON: the median of each, the parts of the first cold start, and the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
import uuid
from typing import Any

from mesh.cli.turns import Message, SilentView, run_turn
from mesh.testing.running_mesh import RunningMesh

COLD_LIMIT_S = 12.0
WARM_LIMIT_S = 5.0


def main() -> int:
    """Measure and print; exit with 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description="Cold and warm start of `mnemesh up` to the first turn (P11).")
    parser.add_argument("--repeat", type=int, default=3, help="how often to measure")
    arguments = parser.parse_args()
    cold: list[float] = []
    warm: list[float] = []
    reports: list[dict[str, Any]] = []
    for _ in range(arguments.repeat):
        mesh = RunningMesh(share_models=False)
        try:
            cold.append(_first_turn_s(mesh, reports))
            mesh.stop()
            warm.append(_first_turn_s(mesh, reports))
        finally:
            mesh.close()
    line = {
        "target": "P11",
        "cold_s": round(statistics.median(cold), 2),
        "warm_s": round(statistics.median(warm), 2),
        "all_cold_s": cold,
        "all_warm_s": warm,
        "cold_parts_s": reports[0]["seconds"],
        "warm_parts_s": reports[1]["seconds"],
        "limits_s": {"cold": COLD_LIMIT_S, "warm": WARM_LIMIT_S},
        "versions": reports[0]["versions"],
        "machine": {"cpus": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"},
    }
    print(json.dumps(line))
    return int(line["cold_s"] > COLD_LIMIT_S or line["warm_s"] > WARM_LIMIT_S)


def _first_turn_s(mesh: RunningMesh, reports: list[dict[str, Any]]) -> float:
    started = time.monotonic()
    reports.append(mesh.start())
    with mesh.client() as client:
        avatar = client.get("/v1/avatars")["avatars"][0]["uid"]
        session = client.post("/v1/sessions", {"avatarId": avatar, "requestId": str(uuid.uuid4())})["session"]["id"]
        message = Message(session, "Hello, what do you know about me?", str(uuid.uuid4()))
        result = run_turn(client, message, SilentView())
    if not result.text:
        raise RuntimeError("the first turn has no answer")
    return round(time.monotonic() - started, 2)


if __name__ == "__main__":
    sys.exit(main())
