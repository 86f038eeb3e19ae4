"""Named queries: SQL lives in files beside the code that runs it.

A file holds any number of queries of this form:

    -- name: insert_session
    -- Stores a new session.
    insert into gateway.sessions (...) values (%(tenant_id)s, ...)

The name identifies the query in traces and logs, the line after it says what the query does. Parameters are named, as
`%(name)s`. In files of `mesh` itself `{schema}` stands for the schema of the service, filled in by `Queries.in_schema`.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources

_HEADER = re.compile(r"^--\s*name:\s*(?P<name>\S+)\s*$", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PLACEHOLDER = re.compile(r"%(?:%|\(\w+\)[stb])")
_SCHEMA_MARK = "{schema}"


@dataclass(frozen=True, slots=True)
class Query:
    """One SQL statement with a name.

    Args:
        name: snake_case; names the span and the log field.
        text: the statement, parameters as `%(name)s`.
        description: what it does, one line.
    """

    name: str
    text: str
    description: str = ""
    encoded: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoded", self.text.encode())


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries of one file."""

    source: str
    by_name: Mapping[str, Query]

    def get(self, name: str) -> Query:
        """Return the query with a name; called at import, so that a wrong name stops the program at once.

        Raises:
            LookupError: the file has no such query.
        """
        try:
            return self.by_name[name]
        except KeyError:
            raise LookupError(f"{self.source} has no query named {name!r}") from None

    def in_schema(self, schema: str) -> Queries:
        """Return the same queries with `{schema}` filled in.

        Raises:
            ValueError: the schema is not a plain lower-case identifier.
        """
        name = plain_schema(schema)
        filled = {
            query.name: replace(query, text=query.text.replace(_SCHEMA_MARK, name)) for query in self.by_name.values()
        }
        return Queries(self.source, filled)


def load(package: str, filename: str) -> Queries:
    """Read a file of queries.

    Args:
        package: the package that holds the file, or a module in it (`__package__` and `__name__` both do).
        filename: such as `sessions.sql`.

    Raises:
        ValueError: the file breaks the form: no queries, a query without a description or without a statement, a name
            twice, or a parameter without a name.
    """
    text = resources.files(_package_of(package)).joinpath(filename).read_text(encoding="utf-8")
    return parse(text, f"{package}:{filename}")


def parse(text: str, source: str) -> Queries:
    """Return the queries in a text; `source` names it in errors."""
    headers = list(_HEADER.finditer(text))
    if not headers:
        raise ValueError(f"{source} holds no queries")
    found: dict[str, Query] = {}
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        body = text[header.end() : following.start() if following else len(text)]
        query = _query(header["name"], body, source)
        if query.name in found:
            raise ValueError(f"{source} has two queries named {query.name!r}")
        found[query.name] = query
    return Queries(source, found)


def plain_schema(schema: str) -> str:
    """Return a schema name that needs no quotes.

    Raises:
        ValueError: it would need them.
    """
    if not _SCHEMA.fullmatch(schema):
        raise ValueError(f"{schema!r} is not a plain schema name")
    return schema


def _query(name: str, body: str, source: str) -> Query:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{source}: query name {name!r} is not snake_case")
    lines = body.strip().splitlines()
    comments = [line.removeprefix("--").strip() for line in lines if line.startswith("--")]
    statement = "\n".join(line for line in lines if not line.startswith("--")).strip().removesuffix(";").rstrip()
    if not comments or not comments[0]:
        raise ValueError(f"{source}: query {name!r} has no description")
    if not statement:
        raise ValueError(f"{source}: query {name!r} has no statement")
    if "%" in _PLACEHOLDER.sub("", statement):
        raise ValueError(f"{source}: query {name!r} has a % that is neither a named parameter nor %%")
    return Query(name, statement, " ".join(comments))


def _package_of(name: str) -> str:
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is None:
        return name.rpartition(".")[0]
    return name
