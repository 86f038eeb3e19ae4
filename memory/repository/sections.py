"""Statements with parts that are there or not, so that a filter that nobody set costs the planner nothing.

`(%(dialog_key)s is null or dialog_key = %(dialog_key)s)` in a prepared statement hides the filter from the planner,
which then scans more than it must. Instead a query of a file marks such parts:

    /*[dialog]*/ and c.dialog_key = %(dialog_key)s /*[/dialog]*/     kept when the section `dialog` is wanted
    /*[!dialog]*/ ... /*[/!dialog]*/                                 kept when it is not
    /*[each +]*/ m_n * w_n /*[/each]*/                               once a term, `_n` numbered from 1, joined with `+`

The text of every statement stands in the file as a whole; no value ever enters it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from mesh.db.queries import Query

_SECTION = re.compile(r"/\*\[(?P<name>!?[a-z_]+)\]\*/(?P<body>.*?)/\*\[/(?P=name)\]\*/", re.DOTALL)
_EACH = re.compile(r"/\*\[each (?P<joined_by>[^\]]+)\]\*/(?P<body>.*?)/\*\[/each\]\*/", re.DOTALL)
_NUMBERED = re.compile(r"(?<=[a-z])_n\b")


@lru_cache(maxsize=512)
def rendered(query: Query, sections: frozenset[str], terms: int) -> Query:
    """Return a statement of a query.

    Args:
        query: as it stands in its file.
        sections: names of the parts to keep.
        terms: how often `each` is repeated, at least 1 where the query has an `each` that is kept.
    """

    def section(match: re.Match[str]) -> str:
        name = match["name"]
        wanted = name in sections if name[0] != "!" else name[1:] not in sections
        return _SECTION.sub(section, match["body"]) if wanted else ""

    def each(match: re.Match[str]) -> str:
        bodies = (_NUMBERED.sub(str(number), match["body"].strip()) for number in range(1, terms + 1))
        return f" {match['joined_by']} ".join(bodies)

    return replace(query, text=_EACH.sub(each, _SECTION.sub(section, query.text)))
