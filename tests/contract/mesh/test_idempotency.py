"""A request id is answered once, whatever happens at the same time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from mesh.db.idempotency import LIFETIME, Idempotency
from mesh.db.pool import Database
from mesh.kernel.errors import Aborted, InvalidArgument, NotFound
from mesh.kernel.identity import Call, Principal
from mesh.kernel.ids import new_id
from mesh.kernel.reasons import Reason
from tests.contract.mesh.schemas import COUNT, INSERT, thing
from tests.contract.mesh.waiting import until

IDEMPOTENCY = Idempotency("probe")
USER = new_id()


@dataclass(frozen=True)
class Answer:
    id: int
    at: datetime
    payload: bytes
    note: str | None = None


def call(**changes: object) -> Call:
    return replace(Call(Principal("acme", USER), "/probe.v1.Things/Create", new_id(), b"digest"), **changes)  # type: ignore[arg-type]


class Service:
    """Creates things; counts how often it really works."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.worked = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails_first = False

    async def create(self, request: Call, number: int = 1) -> Answer:
        async with self.db.transaction(request.tenant_id) as tx:

            async def work() -> Answer:
                self.worked += 1
                await tx.execute(INSERT, thing(request.tenant_id, number))
                await self.gate.wait()
                if self.fails_first and self.worked == 1:
                    raise NotFound(Reason.RESOURCE_NOT_FOUND, "gone")
                return Answer(number, datetime(2025, 1, 2, 3, 4, 5, 678901, UTC), b"\x00\xff", "ünï")

            return await IDEMPOTENCY.once(tx, request, Answer, work)


@pytest.fixture
def service(db: Database) -> Service:
    return Service(db)


async def test_repeated_request_gets_the_first_answer(service: Service) -> None:
    request = call()
    first = await service.create(request)
    assert await service.create(request) == first
    assert service.worked == 1


async def test_request_without_an_id_is_worked_on_each_time(service: Service) -> None:
    for number in (1, 2):
        await service.create(call(request_id=""), number)
    assert service.worked == 2


async def test_id_of_another_request_is_refused(service: Service) -> None:
    request = call()
    await service.create(request)
    with pytest.raises(InvalidArgument) as caught:
        await service.create(replace(request, request_digest=b"other"))
    assert caught.value.reason == Reason.REQUEST_ID_REUSED
    assert [violation.field for violation in caught.value.details.violations] == ["request_id"]


async def test_same_id_of_another_user_tenant_or_method_is_another_request(service: Service) -> None:
    request = call()
    others = [
        replace(request, principal=Principal("acme", new_id())),
        replace(request, principal=Principal("zeta", USER)),
        replace(request, method="/probe.v1.Things/Copy"),
    ]
    for number, each in enumerate([request, *others]):
        await service.create(each, number)
    assert service.worked == 4


async def test_request_that_failed_can_be_tried_again(service: Service) -> None:
    request = call()
    service.fails_first = True
    with pytest.raises(NotFound):
        await service.create(request)
    await service.create(request)
    async with service.db.sweep() as tx:
        assert await tx.value(COUNT) == 1


@pytest.mark.parametrize("first_fails", [False, True])
async def test_concurrent_requests_with_one_id_do_the_work_once(service: Service, first_fails: bool) -> None:
    request = call()
    service.gate.clear()
    service.fails_first = first_fails
    tasks = [asyncio.create_task(service.create(request)) for _ in range(4)]
    await until(lambda: service.worked == 1 and service.db.stats().in_use == 4)
    service.gate.set()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    answers = [each for each in done if isinstance(each, Answer)]
    assert len(answers) == (3 if first_fails else 4)
    assert all(answer == answers[0] for answer in answers)
    assert service.worked == (2 if first_fails else 1)
    async with service.db.sweep() as tx:
        assert await tx.value(COUNT) == 1


async def test_work_that_failed_and_was_committed_all_the_same_gives_no_false_answer(db: Database) -> None:
    request = call()

    async def fail() -> Answer:
        raise NotFound(Reason.RESOURCE_NOT_FOUND, "gone")

    async with db.transaction("acme") as tx:
        with pytest.raises(NotFound):
            await IDEMPOTENCY.once(tx, request, Answer, fail)
    with pytest.raises(Aborted):
        await Service(db).create(request)


async def test_answers_are_swept_when_their_time_is_over(service: Service) -> None:
    request = call()
    await service.create(request)
    now = datetime.now(UTC)
    async with service.db.sweep() as tx:
        assert await IDEMPOTENCY.sweep(tx, now + LIFETIME - timedelta(minutes=1)) == 0
        assert await IDEMPOTENCY.sweep(tx, now + LIFETIME + timedelta(minutes=1)) == 1
    await service.create(request, 2)
    assert service.worked == 2
