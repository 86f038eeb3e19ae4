"""The guard of a loopback server, and what credentials may look like."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from gateway.http.auth import HttpAuth, is_loopback_host
from gateway.usecase.authenticate import DEFAULT_USER, Authenticate
from mesh.kernel.errors import InvalidArgument, PermissionDenied, Unauthenticated
from mesh.kernel.identity import Principal
from mesh.kernel.reasons import Reason

USER = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001"


class OneKey:
    """Stands in for the table of keys: one secret is known."""

    async def principal(self, secret: str) -> Principal:
        if secret != "mk_known":
            raise Unauthenticated(Reason.CREDENTIAL_INVALID, "the API key is unknown")
        return Principal("acme", USER, frozenset({"chat"}), None, "api_key:k")


def auth(mode: str) -> HttpAuth:
    return HttpAuth(mode, Authenticate(mode, OneKey()))  # type: ignore[arg-type]


def headers(*pairs: tuple[str, str]) -> Headers:
    return Headers(raw=[(name.lower().encode(), value.encode()) for name, value in pairs])


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1", "127.8.9.1:1", "[::1]:80", "a.localhost"])
def test_names_of_this_machine(host: str) -> None:
    assert is_loopback_host(host)


@pytest.mark.parametrize("host", ["", "example.com", "localhost.evil.com", "10.0.0.1", "[2001:db8::1]", "0.0.0.0:80"])
def test_names_of_other_machines(host: str) -> None:
    assert not is_loopback_host(host)


@pytest.mark.parametrize(
    "given",
    [
        (("Host", "127.0.0.1:8080"),),
        (("Host", "localhost:8080"), ("Origin", "http://localhost:8080")),
        (("Host", "localhost:8080"), ("Sec-Fetch-Site", "same-origin")),
    ],
)
def test_own_requests_pass_the_guard(given: tuple[tuple[str, str], ...]) -> None:
    auth("none").guard("POST", headers(*given))


@pytest.mark.parametrize(
    ("given", "header"),
    [
        ((("Host", "evil.example:8080"),), "Host"),
        ((), "Host"),
        ((("Host", "localhost:8080"), ("Origin", "http://evil.example")), "Origin"),
        ((("Host", "localhost:8080"), ("Origin", "http://localhost:3000")), "Origin"),
        ((("Host", "localhost:8080"), ("Origin", "null")), "Origin"),
        ((("Host", "localhost:8080"), ("Sec-Fetch-Site", "cross-site")), "Sec-Fetch-Site"),
    ],
)
def test_what_a_page_of_another_origin_sends_is_refused(given: tuple[tuple[str, str], ...], header: str) -> None:
    with pytest.raises(PermissionDenied) as refused:
        auth("none").guard("POST", headers(*given))
    assert refused.value.details.violations[0].field == header


def test_with_keys_any_host_and_origin_pass() -> None:
    auth("api_key").guard("POST", headers(("Host", "api.example"), ("Origin", "https://app.example")))


async def test_mode_none_takes_a_user_or_the_default_one() -> None:
    assert (await auth("none").principal(headers())).user_id == DEFAULT_USER
    caller = await auth("none").principal(headers(("X-User-ID", USER.upper())))
    assert (caller.tenant_id, caller.user_id) == ("default", USER)
    assert caller.may("keys.admin")
    assert not caller.may("internal")


@pytest.mark.parametrize("bad", ["x", "6f1b8a0e3a514c0e9d571d3a4cf0a001", f"{{{USER}}}", f"{USER} "[:-1] + "z"])
async def test_a_user_that_is_no_uuid_is_refused_with_the_header(bad: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await auth("none").principal(headers(("X-User-ID", bad)))
    assert refused.value.details.violations[0].field == "X-User-ID"


@pytest.mark.parametrize("mode", ["none", "api_key"])
async def test_a_key_wins_over_the_user_header_in_every_mode(mode: str) -> None:
    caller = await auth(mode).principal(headers(("Authorization", "bearer mk_known"), ("X-User-ID", DEFAULT_USER)))
    assert (caller.tenant_id, caller.user_id) == ("acme", USER)


@pytest.mark.parametrize("mode", ["none", "api_key"])
@pytest.mark.parametrize("value", ["Bearer mk_other", "Bearer ", "Basic dTpw", "mk_known", "Bearer"])
async def test_a_credential_that_does_not_hold_is_refused_in_every_mode(mode: str, value: str) -> None:
    with pytest.raises(Unauthenticated) as refused:
        await auth(mode).principal(headers(("Authorization", value)))
    assert refused.value.reason is Reason.CREDENTIAL_INVALID


async def test_with_keys_a_credential_is_asked_for_and_the_user_header_is_none() -> None:
    with pytest.raises(Unauthenticated) as refused:
        await auth("api_key").principal(headers(("X-User-ID", USER)))
    assert refused.value.reason is Reason.CREDENTIAL_MISSING


@pytest.mark.parametrize("name", ["Authorization", "X-User-ID"])
async def test_a_credential_sent_twice_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await auth("none").principal(headers((name, USER), (name, USER)))
    assert refused.value.details.violations[0].field == name
