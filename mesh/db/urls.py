"""Database URLs: the same server as another role or another database."""

from __future__ import annotations

from urllib.parse import quote, urlsplit, urlunsplit

from psycopg.conninfo import make_conninfo


def role_url(url: str, role: str, password: str) -> str:
    """Return the URL with another role and its password."""
    if "://" not in url:
        return make_conninfo(url, user=role, password=password)
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(role, safe='')}:{quote(password, safe='')}@{host}"))


def database_url(url: str, database: str) -> str:
    """Return the URL with another database of the same server."""
    if "://" not in url:
        return make_conninfo(url, dbname=database)
    return urlunsplit(urlsplit(url)._replace(path="/" + quote(database, safe="")))
