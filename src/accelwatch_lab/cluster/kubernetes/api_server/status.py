"""The `Status` documents in which an API server refuses a request, in the words of Kubernetes 1.37."""

from collections.abc import Sequence
from typing import Any

Object = dict[str, Any]
# Message of a server that failed or that is not there, and of what has changed in between.
_MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
_RECREATED = "The object might have been deleted and then recreated"


class RequestError(Exception):
    """A request is answered with this status and document."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        name: str = "",
        kind: str = "",
        group: str = "",
        causes: Sequence[Object] = (),
        retry_after_s: int = 0,
        text: str = "",
    ) -> None:
        super().__init__(message)
        # Answered instead of a document, where the real server answers no Status.
        self.text = text
        self.code = code
        self.retry_after_s = retry_after_s
        details: Object = {}
        for key, value in (("name", name), ("group", group), ("kind", kind)):
            if value:
                details[key] = value
        if causes:
            details["causes"] = list(causes)
        if retry_after_s:
            details["retryAfterSeconds"] = retry_after_s
        self.document = failure(code, reason, message, details)


def failure(code: int, reason: str, message: str, details: Object | None = None) -> Object:
    """The document of a refusal."""
    document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    document |= {"message": message, "reason": reason}
    return document | ({"details": details} if details else {}) | {"code": code}


def success(**fields: Any) -> Object:
    """The document of a request that has been done."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", **fields}


def not_found(plural: str, name: str, group: str = "") -> RequestError:
    """There is no such object."""
    where = f"{plural}.{group}" if group else plural
    message = f'{where} "{name}" not found'
    return RequestError(404, "NotFound", message, name=name, kind=plural, group=group)


def no_resource() -> RequestError:
    """Nothing is served under the path."""
    return RequestError(404, "NotFound", "the server could not find the requested resource")


def no_group() -> RequestError:
    """Nothing of the API group or version is served: the real server's router answers, in plain text."""
    text = "404 page not found\n"
    return RequestError(404, "NotFound", text.strip(), text=text)


def already_exists(plural: str, name: str, group: str, *, deleting: bool) -> RequestError:
    """An object of the name is there, perhaps still on its way out."""
    where = f"{plural}.{group}" if group else plural
    message = f'{"object is being deleted: " if deleting else ""}{where} "{name}" already exists'
    return RequestError(409, "AlreadyExists", message, name=name, kind=plural, group=group)


def modified(plural: str, name: str, group: str = "") -> RequestError:
    """The write was made for another resourceVersion."""
    where = f"{plural}.{group}" if group else plural
    message = f'Operation cannot be fulfilled on {where} "{name}": {_MODIFIED}'
    return RequestError(409, "Conflict", message, name=name, kind=plural, group=group)


def owned(plural: str, name: str) -> RequestError:
    """An apply that is not forced changes what others have written."""
    message = f'Apply failed with 1 conflict: the fields of {plural} "{name}" have other managers'
    return RequestError(409, "Conflict", message, causes=[{"reason": "FieldManagerConflict"}])


def precondition_failed(kind: str, name: str, field: str, wrong: str, right: str) -> RequestError:
    """The object has another uid or resourceVersion than the request says."""
    then = _RECREATED if field == "UID" else "The object might have been modified"
    message = (
        f'Operation cannot be fulfilled on {kind} "{name}": the {field} in the precondition ({wrong})'
        f" does not match the {field} in record ({right}). {then}"
    )
    return RequestError(409, "Conflict", message, name=name, kind=kind)


def bad_request(message: str) -> RequestError:
    """The request cannot be read."""
    return RequestError(400, "BadRequest", message)


def invalid(
    kind: str, group: str, name: str, problems: Sequence[tuple[str, str, str]]
) -> RequestError:
    """An object is refused; problems are (field, reason, message)."""
    causes = [{"reason": why, "message": text, "field": field} for field, why, text in problems]
    lines = [f"{field}: {text}" for field, _, text in problems]
    text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    message = (
        f'{kind}.{group} "{name}" is invalid: {text}'
        if group
        else f'{kind} "{name}" is invalid: {text}'
    )
    return RequestError(422, "Invalid", message, name=name, kind=kind, group=group, causes=causes)


def unprocessable() -> RequestError:
    """A JSON patch does not fit the object: a test has failed, or a path is not there."""
    message = "the server rejected our request due to an error in our request"
    return RequestError(422, "Invalid", message)


def unsupported_media_type() -> RequestError:
    """The body is of a kind that the resource does not accept."""
    return RequestError(415, "UnsupportedMediaType", "415: Unsupported Media Type")


def expired(message: str) -> RequestError:
    """A version or a page that the server no longer has."""
    return RequestError(410, "Expired", message)
