"""Fixtures and defaults that every ring of tests uses."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["mesh.testing.postgres", "mesh.testing.running_mesh"]

# No deadline: how fast a machine is decides no test. A test that needs more examples says so.
settings.register_profile("default", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("default")
