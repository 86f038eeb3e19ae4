"""What the code inside of a call may ask."""

from __future__ import annotations

import asyncio
import math

import pytest

from mesh.kernel.identity import Principal
from mesh.rpc.context import acting_as, current_call, current_principal, current_request_id, own_deadline, remaining_s

WORKER = Principal("acme", "6a1f6a46-6d0c-4c5e-9a3e-3f6a5b0c7d11", credential="internal:engine")


def test_outside_of_a_call_there_is_no_call_no_identity_and_no_limit() -> None:
    with pytest.raises(LookupError, match="no call"):
        current_call()
    assert current_principal() is None
    assert current_request_id() == ""
    assert remaining_s() == math.inf


def test_acting_as_holds_inside_of_its_block_only() -> None:
    with acting_as(WORKER):
        assert current_principal() is WORKER
    assert current_principal() is None


def test_own_deadline_counts_down_to_zero_and_no_further() -> None:
    with own_deadline(5):
        assert 4 < remaining_s() <= 5
        with own_deadline(-1):
            assert remaining_s() == 0
        with own_deadline(math.inf):
            assert remaining_s() == math.inf
        assert remaining_s() <= 5


async def test_task_inherits_identity_and_limit() -> None:
    async def look() -> tuple[Principal | None, bool]:
        return current_principal(), remaining_s() <= 5

    with acting_as(WORKER), own_deadline(5):
        task = asyncio.create_task(look())
    assert await task == (WORKER, True)
