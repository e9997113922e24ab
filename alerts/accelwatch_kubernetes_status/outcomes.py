"""What an answer of the API server means for a notice. Pure."""

from accelwatch.alerting.sink import Outcome, Status
from accelwatch.api_client.kubernetes.errors import ApiError, KubernetesError

# The server does not accept the object that we send; all else may be mended over there.
_REFUSED = frozenset({400, 405, 413, 415, 422})
_NOT_ALLOWED = frozenset({401, 403})


def outcome_of_error(error: KubernetesError) -> Outcome:
    """The outcome of a write that did not succeed."""
    refused = isinstance(error, ApiError) and error.status in _REFUSED
    text = str(error)
    if error.status in _NOT_ALLOWED:
        text += "; docs/alerts.md has the rights that it needs"
    return Outcome(
        status=Status.REFUSED if refused else Status.RETRY,
        message=text,
        retry_after_s=error.retry_after_s,
    )
