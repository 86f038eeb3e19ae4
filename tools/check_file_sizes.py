"""Fail when a file of ours is longer than a reader can hold: 600 lines. Generated and vendored files do not count."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MOST_LINES = 600
SUFFIXES = {".py", ".sql", ".proto", ".sh", ".md", ".toml", ".yaml", ".yml"}
NOT_OURS = ("gen/", "proto/third_party/", "tests/data/")


def main() -> int:
    """Print every file over the limit; return 1 when there is one."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git of the caller's PATH
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    too_long = []
    for name in listed:
        path = Path(name)
        if path.suffix not in SUFFIXES or name.startswith(NOT_OURS) or not path.is_file():
            continue
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > MOST_LINES:
            too_long.append(f"{name}: {lines} lines, at most {MOST_LINES}")
    print(*too_long, sep="\n", end="\n" if too_long else "", file=sys.stderr)
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
