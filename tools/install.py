"""Install a lock file and this project into a virtual environment, saying how long it took.

Every distribution comes with the hash that the lock names; the project itself is installed editable, without asking an
index for anything. Usage: python tools/install.py VENV LOCKFILE
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path


def main(venv: Path, lock: Path) -> int:
    """Install; return pip's exit status, its output shown when it fails."""
    started = time.monotonic()
    print(f"installing into {venv} … ", end="", flush=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps = (
        [*pip, "--require-hashes", "--requirement", str(lock)],
        [*pip, "--no-deps", "--no-build-isolation", "--editable", "."],
    )
    for step in steps:
        done = subprocess.run(step, check=False, capture_output=True, text=True)
        if done.returncode:
            print("failed", file=sys.stderr)
            print(done.stdout + done.stderr, file=sys.stderr)
            return done.returncode
    print(f"done ({time.monotonic() - started:.0f} s, once)")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
