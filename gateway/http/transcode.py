"""`google.api.http` rules, read from the descriptors at start, as a table of routes, and requests as messages.

No route is written by hand. Source: google/api/http.proto. What a rule may hold here: the five verbs of HTTP, a body of
`*` or of one message field, variables and query parameters that may name nested fields. A rule that cannot be served
stops the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from google.api import annotations_pb2, http_pb2
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from gateway.http.jsonread import merge, set_texts
from gateway.http.jsontext import malformed, parse_json
from gateway.http.names import descriptor_of, fields_along, fields_by_any_name
from gateway.http.path import PathTemplate, compile_template
from mesh.kernel.errors import NotFound, Unimplemented, invalid_field
from mesh.kernel.reasons import Reason

WHOLE = "*"
MASK = "update_mask"
ETAG = "etag"
REQUEST_ID = "request_id"
MAX_PARAMETERS = 100

_VERBS = ("get", "put", "post", "delete", "patch")


class MethodNotAllowed(Unimplemented):
    """The path exists for other HTTP methods.

    Args:
        allowed: those methods, in upper case.
    """

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allowed = tuple(sorted(set(allowed)))
        names = ", ".join(self.allowed)
        super().__init__(Reason.METHOD_NOT_ALLOWED, f"this path takes only: {names}")


@dataclass(frozen=True, slots=True)
class Route:
    """One binding of an RPC to HTTP.

    Args:
        verb: HTTP method, upper case.
        template: its path.
        method: the RPC.
        body: `*`, the name of the field that the body holds, or empty when there is no body.
        request: the class of the request message.
        response: the class of the response message.
    """

    verb: str
    template: PathTemplate
    method: MethodDescriptor
    body: str
    request: type[Message]
    response: type[Message]

    @property
    def rpc(self) -> str:
        """The full gRPC method, `/package.Service/Method`."""
        service = self.method.containing_service
        return f"/{service.full_name}/{self.method.name}"

    @property
    def streams(self) -> bool:
        """True when the server answers with a stream."""
        return bool(self.method.server_streaming)


@dataclass(frozen=True, slots=True)
class Match:
    """A route and the raw values of its path variables."""

    route: Route
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HttpInput:
    """What a request holds besides its path.

    Args:
        query: raw query string.
        body: the bytes of the body.
        idempotency_key: the header `Idempotency-Key`, or empty.
    """

    query: bytes = b""
    body: bytes = b""
    idempotency_key: str = ""


def routes_of(services: Iterable[ServiceDescriptor]) -> list[Route]:
    """Return the routes of some contracts, the more exact ones first.

    Raises:
        ValueError: a rule cannot be served, or two rules have the same method and path.
    """
    routes = [route for service in services for method in service.methods for route in _method_routes(method)]
    routes.sort(key=lambda route: (not route.template.verb, route.template.weight, route.template.text))
    shapes = [(route.verb, route.template.regex.pattern) for route in routes]
    if len(set(shapes)) != len(shapes):
        raise ValueError("two rules have the same HTTP method and path")
    return routes


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)

    def find(self, verb: str, raw_path: str) -> Match:
        """Return the route for an HTTP method and a raw path. HEAD is served by the route of GET.

        Raises:
            NotFound: ROUTE_NOT_FOUND, no route has the path.
            MethodNotAllowed: routes have the path, but not with this HTTP method.
        """
        wanted = "GET" if verb == "HEAD" else verb
        allowed: set[str] = set()
        custom = False
        for route in self.routes:
            if custom and not route.template.verb:
                break
            values = route.template.match(raw_path)
            if values is None:
                continue
            if route.verb == wanted:
                return Match(route, values)
            allowed.add(route.verb)
            custom = custom or bool(route.template.verb)
        if allowed:
            raise MethodNotAllowed(allowed)
        raise NotFound(Reason.ROUTE_NOT_FOUND, "there is nothing at this path; GET /docs lists what there is")


def build_request(match: Match, given: HttpInput) -> Message:
    """Return the request message of a matched HTTP request.

    Raises:
        InvalidArgument: MALFORMED_MESSAGE, TEXT_NOT_STORABLE or INVALID_REQUEST, with the field where there is one.
    """
    route = match.route
    request = route.request()
    if route.body:
        _read_body(request, route, given.body)
    elif given.body:
        raise malformed("this method takes no body")
    for path, value in route.template.decode(match.values):
        _bind(request, path, value)
    _read_query(request, route, given.query)
    _default_request_id(request, given.idempotency_key)
    return request


def _method_routes(method: MethodDescriptor) -> Iterator[Route]:
    if not method.GetOptions().HasExtension(annotations_pb2.http):
        return
    if method.client_streaming:
        raise ValueError(f"{method.full_name}: a stream of requests cannot be bound to HTTP")
    rule = method.GetOptions().Extensions[annotations_pb2.http]
    for binding in (rule, *rule.additional_bindings):
        yield _route(method, binding)


def _route(method: MethodDescriptor, rule: http_pb2.HttpRule) -> Route:
    verb = rule.WhichOneof("pattern")
    if verb not in _VERBS:
        raise ValueError(f"{method.full_name}: {verb} is not served")
    if rule.response_body:
        raise ValueError(f"{method.full_name}: response_body is not served")
    template = compile_template(getattr(rule, verb))
    body = rule.body
    field = method.input_type.fields_by_name.get(body)
    if body not in {"", WHOLE} and (field is None or field.message_type is None or field.is_repeated):
        raise ValueError(f"{method.full_name}: the body {body} is no message field")
    request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    for variable in template.variables:
        fields = fields_along(method.input_type, variable)
        if fields is None or fields[-1].type != FieldDescriptor.TYPE_STRING or fields[-1].is_repeated:
            raise ValueError(f"{method.full_name}: the path variable {variable} is no text field")
    return Route(verb.upper(), template, method, body, request, response)


def _read_body(request: Message, route: Route, body: bytes) -> None:
    value = parse_json(body)
    if route.body == WHOLE:
        merge(request, value)
        return
    part = getattr(request, route.body)
    part.SetInParent()
    merge(part, value, route.body)
    if MASK in request.DESCRIPTOR.fields_by_name:
        bound = {path.rpartition(".")[2] for path in route.template.variables if path.startswith(f"{route.body}.")}
        known = fields_by_any_name(part.DESCRIPTOR)
        names = (known[name].name for name in value)
        mask: Any = getattr(request, MASK)
        mask.paths.extend(name for name in names if name not in bound | {ETAG})


def _bind(request: Message, path: str, value: str) -> None:
    parent = request
    *parents, last = path.split(".")
    for name in parents:
        parent = getattr(parent, name)
    in_body: str = getattr(parent, last)
    if in_body not in {"", value}:
        raise invalid_field(path, "differs between path and body", "PATH_MISMATCH")
    set_texts(request, path, (value,))


def _read_query(request: Message, route: Route, query: bytes) -> None:
    taken = set(route.template.variables)
    for name, values in _parameters(query).items():
        fields = fields_along(descriptor_of(request), name)
        path = ".".join(field.name for field in fields) if fields else name
        if route.body == WHOLE or path in taken or path.partition(".")[0] == route.body:
            raise invalid_field(name, "is no query parameter of this method, or is given twice", "UNKNOWN_FIELD")
        taken.add(path)
        if path == MASK:
            request.ClearField(MASK)
        set_texts(request, name, values)


def _parameters(query: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
    except UnicodeDecodeError:
        raise malformed("the query string is not UTF-8") from None
    except ValueError:
        raise malformed(f"the query string holds more than {MAX_PARAMETERS} parameters") from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _default_request_id(request: Message, key: str) -> None:
    if key and REQUEST_ID in request.DESCRIPTOR.fields_by_name and not getattr(request, REQUEST_ID):
        set_texts(request, REQUEST_ID, (key,))
