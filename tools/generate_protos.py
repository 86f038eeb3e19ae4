"""Write `gen/` from `proto/`: messages, services and their type stubs.

Files are named relative to their root, because a path under two roots would be compiled twice. The stubs of google/api
and google/rpc come from the googleapis-common-protos package; buf/validate has no package of its own and is generated.
Usage: python tools/generate_protos.py [--check]     `--check` fails when gen/ is not what would be written.
"""

from __future__ import annotations

import filecmp
import importlib.resources
import shutil
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
THIRD_PARTY = PROTO / "third_party"
GEN = ROOT / "gen"


def main() -> int:
    """Generate, or compare with what is committed; return the exit status."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "gen"
        fresh.mkdir()
        generate(fresh)
        if "--check" in sys.argv[1:]:
            stale = differences(fresh, GEN)
            for path in stale:
                print(f"gen/{path} is stale: run `make proto` and commit what it writes", file=sys.stderr)
            return 1 if stale else 0
        shutil.rmtree(GEN, ignore_errors=True)
        shutil.copytree(fresh, GEN)
    return 0


def generate(out: Path) -> None:
    """Compile every contract into a directory."""
    own = sorted(path.relative_to(PROTO).as_posix() for path in (PROTO / "mnemesh").rglob("*.proto"))
    validate = ["buf/validate/validate.proto"]
    run(out, ["--python_out", "--mypy_out=quiet:"], own + validate)
    services = [name for name in own if name.endswith("_service.proto")]
    run(out, ["--grpc_python_out", "--mypy_grpc_out=quiet:"], services)


def run(out: Path, plugins: list[str], files: list[str]) -> None:
    """Call protoc once with every plugin."""
    well_known = importlib.resources.files("grpc_tools") / "_proto"
    outputs = [f"{plugin}{out}" if plugin.endswith(":") else f"{plugin}={out}" for plugin in plugins]
    arguments = ["protoc", f"-I{THIRD_PARTY}", f"-I{PROTO}", f"-I{well_known}", *outputs, *files]
    if protoc.main(arguments) != 0:
        raise SystemExit(1)


def differences(fresh: Path, committed: Path) -> list[str]:
    """Return the files that differ or stand on one side only."""
    names = {path.relative_to(base).as_posix() for base in (fresh, committed) for path in sources(base)}
    return sorted(name for name in names if not same(fresh / name, committed / name))


def sources(base: Path) -> list[Path]:
    """Return the generated files below a directory, byte code left out."""
    return [path for path in base.rglob("*.py*") if path.is_file() and path.suffix in {".py", ".pyi"}]


def same(left: Path, right: Path) -> bool:
    """Tell whether both files exist with the same bytes."""
    return left.is_file() and right.is_file() and filecmp.cmp(left, right, shallow=False)


if __name__ == "__main__":
    sys.exit(main())
