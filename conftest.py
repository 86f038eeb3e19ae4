"""Fixtures that every ring of tests may use."""

from __future__ import annotations

pytest_plugins = ["mesh.testing.postgres", "mesh.testing.running_mesh"]
