"""What a provider's errors mean, the same table for every HTTP provider.

Our messages are written here; what the provider or its library said becomes the cause of the error, which only the log
sees, and from which credentials are removed first (providers like to repeat the key that they refuse).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from mesh.kernel.errors import ErrorDetails, FailedPrecondition, MeshError, ResourceExhausted, Unavailable
from mesh.kernel.reasons import Reason
from mesh.models.attempts import Failure

DEFAULT_RETRY_AFTER = timedelta(seconds=10)
"""What a rate-limited caller is told when the provider named no time."""

_FAULT_TEXT_LIMIT = 500
_LONGEST_WAIT_S = 86_400.0
_UNAUTHORIZED = frozenset({401, 403})
_NOT_FOUND = 404
_TRANSIENT = frozenset({408, *range(500, 600)})
_RATE_LIMITED = 429


class ProviderFault(Exception):
    """What a provider or its library said, credentials removed: the `__cause__` of our error, for the log only."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Whose errors are explained.

    Args:
        name: `gemini` or `openai`.
        secrets: texts that no log line may hold.
        unreachable: the reason for a provider that is down: MODEL_UNAVAILABLE or EMBEDDER_UNAVAILABLE.
    """

    name: str
    secrets: tuple[str, ...] = ()
    unreachable: Reason = Reason.MODEL_UNAVAILABLE

    def caused(self, failure: Failure, cause: BaseException) -> Failure:
        """Return the failure with the loggable form of what caused it: its type and text, shortened."""
        text = f"{type(cause).__name__}: {cause}"
        for secret in self.secrets:
            text = text.replace(secret, "[redacted]") if secret else text
        failure.error.__cause__ = ProviderFault(text[:_FAULT_TEXT_LIMIT])
        return failure

    def unreachable_failure(self, *, billed: bool) -> Failure:
        """Return the failure for a connection that could not be made or broke."""
        return Failure(Unavailable(self.unreachable, "the model provider cannot be reached"), True, billed=billed)

    def status_failure(self, status: int, retry_after: timedelta | None) -> Failure:
        """Return the failure for an HTTP error status.

        Args:
            status: 400 to 599.
            retry_after: the wait that the provider asked for.
        """
        metadata = {"provider": self.name, "provider_status": str(status)}
        if status == _RATE_LIMITED:
            return rate_limited(retry_after, metadata)
        if status in _TRANSIENT:
            message = "the model provider answered with an error; try again"
            error = Unavailable(self.unreachable, message, ErrorDetails(metadata, retry_after=retry_after))
            return Failure(error, True, billed=False, asked_wait=retry_after)
        return Failure(_permanent(status, metadata), False, billed=False)


def _permanent(status: int, metadata: Mapping[str, str]) -> MeshError:
    details = ErrorDetails(metadata)
    if status in _UNAUTHORIZED:
        message = "the model provider refused the configured key"
        return FailedPrecondition(Reason.CONFIGURATION_INVALID, message, details)
    if status == _NOT_FOUND:
        message = "the model provider does not know the configured model"
        return FailedPrecondition(Reason.CONFIGURATION_INVALID, message, details)
    return FailedPrecondition(Reason.MODEL_REFUSED, "the model provider does not accept this request", details)


def rate_limited(
    retry_after: timedelta | None, metadata: Mapping[str, str] | None = None, *, retryable: bool = True
) -> Failure:
    """Return the failure for a rate limit; a used-up quota is not retryable at once."""
    details = ErrorDetails(metadata or {}, retry_after=retry_after or DEFAULT_RETRY_AFTER)
    error = ResourceExhausted(Reason.MODEL_RATE_LIMITED, "the model provider limits the rate of requests", details)
    return Failure(error, retryable, billed=False, asked_wait=retry_after)


def refused() -> Failure:
    """Return the failure for a provider's safety verdict."""
    message = "the model provider refused to answer for safety reasons"
    return Failure(FailedPrecondition(Reason.MODEL_REFUSED, message), False)


def output_invalid(message: str, *, retryable: bool = True) -> Failure:
    """Return the failure for an answer that is not what was asked for."""
    return Failure(Unavailable(Reason.MODEL_OUTPUT_INVALID, message), retryable)


def missing_setting(name: str, purpose: str) -> FailedPrecondition:
    """Return the error for a setting that a configured provider needs."""
    return FailedPrecondition(Reason.CONFIGURATION_INVALID, f"{name} is not set; {purpose} needs it")


def missing_extra(extra: str, purpose: str) -> FailedPrecondition:
    """Return the error for libraries that are not installed."""
    message = f"{purpose} needs libraries that are not installed; run: pip install 'mnemesh[{extra}]'"
    return FailedPrecondition(Reason.CONFIGURATION_INVALID, message)


def parse_seconds(text: str) -> timedelta | None:
    """Return a wait written as a number of seconds; None for anything else, such as a date, and for none at all."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return timedelta(seconds=seconds) if 0 < seconds <= _LONGEST_WAIT_S else None
