"""Runs a module in a process that does not outlive the one that started it.

`python -m mesh.cli.child FD MODULE ARG...`: FD is the reading end of a pipe whose other end only the parent holds. When
the parent ends, in whatever way, the pipe ends and this process is killed. That holds for `kill -9` of the parent,
needs no signal that only Linux has, and cannot be missed between fork and exec.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def main(arguments: list[str]) -> None:
    """Watch the parent and become the module."""
    life, module, *rest = arguments
    descriptor = int(life)
    os.set_inheritable(descriptor, False)
    threading.Thread(target=_end_with, args=(descriptor,), name="parent-watch", daemon=True).start()
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
