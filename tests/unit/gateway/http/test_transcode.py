"""Routes from the contracts, and requests by those routes."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.transcode import HttpInput, MethodNotAllowed, Router, build_request, routes_of
from gateway.rpc.services import MEMORY_CONTRACTS, OWN_CONTRACTS
from mesh.kernel.errors import InvalidArgument, NotFound
from mesh.kernel.reasons import Reason
from mnemesh.common.v1 import authorization_pb2

ROUTER = Router(routes_of((*OWN_CONTRACTS, *MEMORY_CONTRACTS)))
ID = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001"
KEY = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a002"


def request(verb: str, path: str, query: bytes = b"", body: bytes = b"", key: str = "") -> Any:
    return build_request(ROUTER.find(verb, path), HttpInput(query, body, key))


def refused(verb: str, path: str, query: bytes = b"", body: bytes = b"") -> tuple[Reason, str, str]:
    with pytest.raises(InvalidArgument) as caught:
        request(verb, path, query, body)
    violations = caught.value.details.violations
    return caught.value.reason, *((violations[0].field, violations[0].reason) if violations else ("", ""))


def test_every_public_method_has_a_route_and_no_internal_one() -> None:
    served = {route.method.full_name for route in ROUTER.routes}
    for contract in (*OWN_CONTRACTS, *MEMORY_CONTRACTS):
        for method in contract.methods:
            is_internal = method.GetOptions().Extensions[authorization_pb2.scope] == "internal"
            assert (method.full_name in served) is not is_internal


@pytest.mark.parametrize(
    ("verb", "path", "rpc"),
    [
        ("POST", "/v1/sessions", "/mnemesh.gateway.v1.SessionService/CreateSession"),
        ("HEAD", "/v1/sessions", "/mnemesh.gateway.v1.SessionService/ListSessions"),
        ("PATCH", f"/v1/sessions/{ID}", "/mnemesh.gateway.v1.SessionService/UpdateSession"),
        ("POST", f"/v1/sessions/{ID}:converse", "/mnemesh.gateway.v1.ChatService/Converse"),
        ("GET", f"/v1/sessions/{ID}/turns", "/mnemesh.conversation.v1.ConversationService/ListTurns"),
        ("POST", "/v1/memory:recall", "/mnemesh.memory.v1.RecallService/Recall"),
        ("GET", "/v1/memory/facts", "/mnemesh.memory.v1.FactService/ListFacts"),
        ("POST", "/v1/memory/chunks:ingest", "/mnemesh.memory.v1.ChunkService/IngestDialog"),
    ],
)
def test_a_request_finds_its_rpc(verb: str, path: str, rpc: str) -> None:
    assert ROUTER.find(verb, path).route.rpc == rpc


@pytest.mark.parametrize("path", ["/v2", "/v1", "/v1/sessions/", "/v1/sessions/a/b", "/v1/memory", "//v1/sessions"])
def test_an_unknown_path_is_route_not_found(path: str) -> None:
    with pytest.raises(NotFound) as caught:
        ROUTER.find("GET", path)
    assert caught.value.reason is Reason.ROUTE_NOT_FOUND


@pytest.mark.parametrize(
    ("verb", "path", "allowed"),
    [
        ("DELETE", "/v1/avatars", ("GET",)),
        ("POST", f"/v1/sessions/{ID}", ("DELETE", "GET", "PATCH")),
        ("GET", f"/v1/sessions/{ID}:converse", ("POST",)),
        ("OPTIONS", "/v1/sessions", ("GET", "POST")),
    ],
)
def test_another_method_names_those_that_are_allowed(verb: str, path: str, allowed: tuple[str, ...]) -> None:
    with pytest.raises(MethodNotAllowed) as caught:
        ROUTER.find(verb, path)
    assert caught.value.allowed == allowed


def test_the_body_fills_the_whole_message_and_the_path_its_variable() -> None:
    message = request("POST", f"/v1/sessions/{ID}:converse", body=b'{"text":"hi","time_zone":"Europe/Kyiv"}')
    assert (message.session_id, message.text, message.time_zone) == (ID, "hi", "Europe/Kyiv")


def test_query_parameters_fill_fields_under_both_names() -> None:
    query = b"pageSize=3&page_token=t&statuses=ACTIVE&statuses=FACT_STATUS_DELETED"
    message = request("GET", "/v1/memory/facts", query)
    assert (message.page_size, message.page_token, list(message.statuses)) == (3, "t", [1, 3])


def test_query_parameters_are_percent_decoded() -> None:
    assert request("GET", "/v1/memory/facts", b"key=a%20b+c%E2%82%AC").key == "a b c€"


@pytest.mark.parametrize(
    ("query", "field", "rule"),
    [
        (b"foo=1", "foo", "UNKNOWN_FIELD"),
        (b"pageSize=x", "pageSize", "TYPE"),
        (b"pageSize=1&pageSize=2", "pageSize", "DUPLICATE"),
        (b"pageSize=1&page_size=2", "page_size", "UNKNOWN_FIELD"),
        (b"statuses=WRONG", "statuses[0]", "ENUM"),
        (b"pageSize=99999999999", "pageSize", "RANGE"),
    ],
)
def test_a_wrong_query_parameter_is_refused_by_name(query: bytes, field: str, rule: str) -> None:
    assert refused("GET", "/v1/memory/facts", query) == (Reason.INVALID_REQUEST, field, rule)


@pytest.mark.parametrize("query", [b"key=%FF", b"key=\xff", b"&".join([b"a=1"] * 101)])
def test_a_query_that_cannot_be_read_is_malformed(query: bytes) -> None:
    assert refused("GET", "/v1/memory/facts", query)[0] is Reason.MALFORMED_MESSAGE


def test_a_variable_of_the_path_is_no_query_parameter() -> None:
    assert refused("GET", f"/v1/sessions/{ID}", f"id={KEY}".encode())[1] == "id"


def test_with_a_whole_body_there_are_no_query_parameters() -> None:
    assert refused("POST", "/v1/sessions", b"name=x", b"{}")[1] == "name"


def test_a_method_without_a_body_takes_none() -> None:
    assert refused("GET", "/v1/sessions", body=b"{}")[0] is Reason.MALFORMED_MESSAGE


def test_path_and_body_must_agree() -> None:
    agreeing = f'{{"sessionId":"{ID}","text":"x"}}'.encode()
    assert request("POST", f"/v1/sessions/{ID}:converse", body=agreeing).text == "x"
    found = refused("POST", f"/v1/sessions/{ID}:converse", body=f'{{"sessionId":"{KEY}","text":"x"}}'.encode())
    assert found == (Reason.INVALID_REQUEST, "session_id", "PATH_MISMATCH")


@pytest.mark.parametrize(
    ("query", "body", "paths"),
    [
        (b"", b'{"name":"a"}', ["name"]),
        (b"", b'{"description":"b","name":"a"}', ["description", "name"]),
        (b"", f'{{"id":"{ID}","etag":"3","name":"a"}}'.encode(), ["name"]),
        (b"", b"{}", []),
        (b"updateMask=description", b'{"name":"a"}', ["description"]),
        (b"update_mask=name,description", b"{}", ["name", "description"]),
        (b"updateMask=*", b'{"name":"a"}', ["*"]),
    ],
)
def test_the_mask_of_a_patch_is_the_query_or_the_keys_of_the_body(query: bytes, body: bytes, paths: list[str]) -> None:
    message = request("PATCH", f"/v1/sessions/{ID}", query, body)
    assert message.session.id == ID
    assert list(message.update_mask.paths) == paths


def test_a_patch_names_the_whole_path_of_a_wrong_field() -> None:
    assert refused("PATCH", f"/v1/sessions/{ID}", body=b'{"nme":"x"}')[1] == "session.nme"


def test_an_idempotency_key_is_the_request_id_when_the_body_has_none() -> None:
    assert request("POST", "/v1/sessions", body=b"{}", key=KEY).request_id == KEY
    given = request("POST", "/v1/sessions", body=f'{{"requestId":"{ID}"}}'.encode(), key=KEY)
    assert given.request_id == ID
    assert request("DELETE", f"/v1/sessions/{ID}", key=KEY).request_id == KEY
    request("GET", f"/v1/sessions/{ID}", key=KEY)
