"""What never reaches a log: values of fields that name a secret, and secrets that texts carry in known forms.

Field names are matched by words in them, so `x-api-key`, `API_KEY` and `gemini_api_key` are one case. Texts are
searched for the password of a URL, for bearer tokens and for signed tokens, because drivers and HTTP libraries put
them in messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"

_SECRET_NAME = re.compile(
    r"password|passwd|secret|token(?!s)|authorization|api_?key|cookie|credentials?$|identity|dsn|private_?key|conninfo",
    re.IGNORECASE,
)
_PATTERNS = (
    (re.compile(r"(\w[\w+.-]*://[^\s:/@]*:)[^\s/@]+@"), r"\1***@"),
    (re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE), r"\1 ***"),
    (re.compile(r"\b(password|api_?key|secret|key)=[^\s&'\"]+", re.IGNORECASE), r"\1=***"),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), HIDDEN),
)


def hides(name: str) -> bool:
    """Tell whether a field of this name must not be shown."""
    return _SECRET_NAME.search(name.replace("-", "_")) is not None


def redact_text(text: str) -> str:
    """Return a text without the secrets that it carries in known forms."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def redact(name: str, value: Any) -> Any:
    """Return a field's value as it may be shown: nested values included, texts searched."""
    if hides(name):
        return HIDDEN
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {str(key): redact(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(name, item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else redact_text(str(value))
