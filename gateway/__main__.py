"""`python -m gateway serve|migrate`."""

from __future__ import annotations
