"""Compare the contracts with those of the main branch and fail when a released client would break.

Looks for `origin/main`, then `main`; a clone without either, or without contracts there, has nothing to break.
"""

from __future__ import annotations

import subprocess
import sys


def main() -> int:
    """Return buf's exit status, or 0 when there is nothing to compare with."""
    for branch in ("origin/main", "main"):
        if _holds_contracts(branch):
            return subprocess.run(
                ["buf", "breaking", "--against", f".git#ref={_commit(branch)}"],  # noqa: S607 - the environment's buf
                check=False,
            ).returncode
    print("no earlier contracts to compare with")
    return 0


def _holds_contracts(branch: str) -> bool:
    probe = subprocess.run(["git", "cat-file", "-e", f"{branch}:buf.yaml"], check=False, capture_output=True)  # noqa: S607
    return probe.returncode == 0


def _commit(branch: str) -> str:
    done = subprocess.run(["git", "rev-parse", branch], check=True, capture_output=True, text=True)  # noqa: S607
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
