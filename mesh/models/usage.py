"""Estimated token counts, for attempts whose provider reported none (G18).

An estimate is never mixed up with a measurement: its report says `measured=False`. One rule serves every provider,
since an estimate is needed exactly when a tokenizer of the provider's is not at hand.
"""

from __future__ import annotations

from mesh.models.protocols import ModelRequest, UsageReport

BYTES_PER_TOKEN = 4
"""UTF-8 bytes in one token. Source: Gemini API, 'Understand and count tokens': about four characters of English; by
bytes instead of characters, the rule also comes close for scripts of two and three bytes a letter."""

TOKENS_PER_MESSAGE = 4
"""Tokens that frame a message (role, separators). Source: OpenAI cookbook, 'How to count tokens': three and a role."""


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: a quarter of its UTF-8 bytes, rounded up; 0 for an empty one."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def estimate_input_tokens(request: ModelRequest) -> int:
    """Return the estimated tokens that a provider reads for a request."""
    texts = [request.instructions] if request.instructions else []
    texts.extend(message.text for message in request.messages)
    return sum(TOKENS_PER_MESSAGE + estimate_tokens(text) for text in texts)


def estimated_usage(request: ModelRequest, answer: str, *, attempt: int = 1) -> UsageReport:
    """Return the report of an attempt that was left before its provider reported anything.

    Args:
        request: what was sent.
        answer: the text received so far.
        attempt: which attempt of the call it was, from 1.
    """
    return UsageReport(estimate_input_tokens(request), estimate_tokens(answer), measured=False, attempt=attempt)
