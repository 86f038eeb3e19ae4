"""Credentials of HTTP requests, and the guard of a loopback server against web pages.

Mode `none` trusts whoever reaches the port, and every page in a browser on this machine reaches it. Two things give a
page away: its `Origin` is not this server's, or the `Host` it used is a name that only its own DNS resolves to loopback
(DNS rebinding). Source: Fetch standard, 'Origin header'; a browser sets both headers itself and a page cannot.
"""

from __future__ import annotations

import ipaddress

from starlette.datastructures import Headers

from gateway.usecase.authenticate import USER_HEADER, Authenticate, AuthMode, Credentials
from mesh.kernel.errors import ErrorDetails, FieldViolation, PermissionDenied, invalid_field
from mesh.kernel.identity import Principal
from mesh.kernel.reasons import Reason

_CROSS_SITE = frozenset({"cross-site", "same-site"})
_SAFE_VERBS = frozenset({"GET", "HEAD"})


class HttpAuth:
    """Proves who sends an HTTP request."""

    def __init__(self, mode: AuthMode, authenticate: Authenticate) -> None:
        self._guards_loopback = mode == "none"
        self._authenticate = authenticate

    def guard(self, verb: str, headers: Headers) -> None:
        """Refuse, in mode `none`, what a page of another origin could have sent.

        Raises:
            PermissionDenied: the header that gives it away is named.
        """
        if not self._guards_loopback:
            return
        host = _single(headers, "host")
        if not is_loopback_host(host):
            raise _foreign("Host", "must be localhost or a loopback address while no API key is asked for")
        origin = _single(headers, "origin")
        if origin and origin.lower() != f"http://{host.lower()}":
            raise _foreign("Origin", "must be this server's while no API key is asked for")
        if verb not in _SAFE_VERBS and headers.get("sec-fetch-site") in _CROSS_SITE:
            raise _foreign("Sec-Fetch-Site", "must not be another site's while no API key is asked for")

    async def principal(self, headers: Headers) -> Principal:
        """Return the caller.

        Raises:
            Unauthenticated: the credential is missing or does not hold.
            InvalidArgument: `X-User-ID` is no UUID, or a credential is sent twice.
        """
        given = Credentials(_single(headers, "authorization"), _single(headers, USER_HEADER))
        return await self._authenticate.principal(given)


def is_loopback_host(host: str) -> bool:
    """Tell whether `host`, `host:port` or `[v6]:port` names this machine without the help of DNS."""
    name = host.strip().lower()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _single(headers: Headers, name: str) -> str:
    values = headers.getlist(name)
    if len(values) > 1:
        raise invalid_field(name.title() if name != USER_HEADER else name, "must be sent once", "DUPLICATE")
    return values[0] if values else ""


def _foreign(header: str, description: str) -> PermissionDenied:
    details = ErrorDetails(violations=(FieldViolation(header, description, "FOREIGN_ORIGIN"),))
    return PermissionDenied(Reason.ORIGIN_NOT_ALLOWED, f"{header}: {description}", details)
