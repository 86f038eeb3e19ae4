"""Write docs/settings.md and docs/errors.md from the code and the contracts that they describe.

Usage: python tools/document_reference.py [--check]     `--check` fails when a page is not what would be written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from mesh.runtime.settings import SettingRow, describe

ROOT = Path(__file__).resolve().parent.parent
REASONS = ROOT / "proto" / "mnemesh" / "common" / "v1" / "error_reason.proto"

PROCESSES = (
    ("gateway", "GatewaySettings", "The gateway"),
    ("engine", "EngineSettings", "The engine"),
    ("memory", "MemorySettings", "Memory"),
    ("mesh.cli", "CliSettings", "The commands of `mnemesh`"),
)

SETTINGS_HEAD = """\
# Settings

Written by `tools/document_reference.py` from the settings classes; do not edit.

Every setting is an environment variable. An unknown name that starts with `MNEMESH_` is an error, and so is a value
that cannot be used; all problems are reported at once. Secrets never show up in logs. Where several names are given,
the first one that is set wins. Without `MNEMESH_DATABASE_URL` the variables of libpq say where the database is:
`PGHOST`, `PGPORT`, `PGDATABASE`, `PGUSER`, `PGPASSWORD`, `PGSSLMODE`, `PGCHANNELBINDING`.
"""

ERRORS_HEAD = """\
# Errors

Written by `tools/document_reference.py` from `proto/mnemesh/common/v1/error_reason.proto`; do not edit.

An error carries `google.rpc.ErrorInfo` with one of these reasons and the domain `mnemesh`; over HTTP it is a problem
document (RFC 9457) with the same `reason`. Where they help, `BadRequest` names the fields, `RetryInfo` (HTTP
`Retry-After`) says when to come back, and `ResourceInfo` says what was not found.

| reason | when |
| --- | --- |
"""


def main() -> int:
    """Write the pages, or compare with what is committed; return the exit status."""
    stale = []
    for name, text in (("settings.md", settings_page()), ("errors.md", errors_page())):
        path = ROOT / "docs" / name
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
    for name in stale:
        print(f"docs/{name} is stale: run `make docs` and commit what it writes", file=sys.stderr)
    return 1 if stale else 0


def settings_page() -> str:
    """Return the reference of settings, one table a process."""
    return SETTINGS_HEAD + "".join(_section(*process) for process in PROCESSES)


def _section(package: str, class_name: str, title: str) -> str:
    rows = describe(getattr(import_module(f"{package}.settings"), class_name))
    lines = "".join(_row(row) for row in rows)
    return f"\n## {title}\n\n| variable | type | default | meaning |\n| --- | --- | --- | --- |\n{lines}"


def _row(row: SettingRow) -> str:
    names = ", ".join(f"`{name}`" for name in row.names)
    default = "required" if row.required else f"`{row.default}`" if row.default else ""
    return f"| {names} | {row.kind} | {default} | {row.doc} |\n"


def errors_page() -> str:
    """Return the reference of reasons."""
    return ERRORS_HEAD + "".join(f"| `{name}` | {meaning} |\n" for name, meaning in _reasons())


def _reasons() -> Iterator[tuple[str, str]]:
    for comment, name in re.findall(r"  // (.+)\n  ERROR_REASON_(\w+) = \d+;", REASONS.read_text(encoding="utf-8")):
        if name != "UNSPECIFIED":
            yield name, comment


if __name__ == "__main__":
    sys.exit(main())
