"""Refusals in the manager's words: documents of application/problem+json."""

from collections.abc import Mapping
from typing import Any

_PROBLEMS = "https://api.backend.ai/probs/"


class RequestError(Exception):
    """A request is answered with this status and document."""

    def __init__(self, status: int, kind: str, title: str, code: str, **more: Any) -> None:
        super().__init__(title)
        self.status = status
        # What GraphQL says of it.
        self.text = f"{title} ({more['msg']})" if more.get("msg") else title
        self.extensions: Mapping[str, str] = {"code": code}
        self.document = {"type": _PROBLEMS + kind, "title": title, "error_code": code, **more}


def unknown_path(path: str) -> RequestError:
    """Nothing is served there."""
    return RequestError(404, "url-not-found", "Unknown URL path.", "api_read_not-found", data=path)


def wrong_method() -> RequestError:
    """Something is served there, but not so."""
    title = "HTTP Method Not Allowed."
    return RequestError(405, "method-not-allowed", title, "api_access_forbidden")


def invalid(message: str) -> RequestError:
    """The body or path cannot be read."""
    title = "Invalid or Missing API Parameters."
    code = "api_parsing_invalid-parameters"
    return RequestError(400, "generic-bad-request", title, code, msg=message)


def unauthorized(message: str) -> RequestError:
    """Nobody is known by the signature."""
    title = "Credential/signature mismatch."
    return RequestError(401, "auth-failed", title, "user_auth_unauthorized", msg=message)


def out_of_sync() -> RequestError:
    """The request's Date is too far from the server's."""
    title = "Missing or invalid authorization parameters."
    code = "user_auth_invalid-parameters"
    return RequestError(400, "invalid-auth-params", title, code, msg="Date/time sync error")


def forbidden(message: str) -> RequestError:
    """The key's role may not."""
    code = "backendai_generic_forbidden"
    return RequestError(403, "generic-forbidden", "Forbidden operation.", code, msg=message)


def not_permitted(message: str) -> RequestError:
    """The key's permissions do not include it."""
    title = "Insufficient permission to perform this operation."
    return RequestError(
        403, "not-enough-permission", title, "permission_access_forbidden", msg=message
    )


def no_session(message: str) -> RequestError:
    """There is none of the id."""
    title = "No such session."
    return RequestError(404, "object-not-found", title, "session_read_not-found", msg=message)


def no_entity() -> RequestError:
    """There is none of the name, or none that can still be ended."""
    title = "Entity not found."
    message = "No SessionRow matches the given key"
    return RequestError(404, "entity-not-found", title, "session_read_not-found", msg=message)


def no_group(name: str) -> RequestError:
    """There is no such resource group."""
    title = "No such resource group."
    return RequestError(404, "object-not-found", title, "resource-group_read_not-found", msg=name)


def no_image(name: str, architecture: str) -> RequestError:
    """There is no such image."""
    message = f"Unknown image reference: {name} ({architecture})"
    title = "No such environment image."
    return RequestError(404, "object-not-found", title, "image_read_not-found", msg=message)


def exists(session: str) -> RequestError:
    """A session of the name is there, and is not to be reused."""
    title = "The session already exists but you requested not to reuse existing one."
    code = "session_create_already-exists"
    data = {"existingSessionId": session}
    return RequestError(400, "session-already-exists", title, code, data=data)


def failed() -> RequestError:
    """The manager has failed."""
    title = "Internal server error."
    return RequestError(500, "internal-server-error", title, "backendai_generic_internal-error")


def agent_conflict(agent: str, count: int) -> RequestError:
    """The agent's sessions are of the group that it would leave."""
    title = "Agent has sessions conflicting with its resource group."
    message = (
        f"Agent {agent} has {count} session(s) conflicting with its resource group; drain them or retry"
        " with force."
    )
    return RequestError(409, "agent-update-conflict", title, "agent_update_conflict", msg=message)


def invalid_parameters(message: str, **more: Any) -> RequestError:
    """A parameter has a value that does not go."""
    title = "Missing or invalid API parameters."
    code = "api_generic_invalid-parameters"
    return RequestError(400, "invalid-api-params", title, code, msg=message, **more)


def agent_unreachable(agent: str) -> RequestError:
    """The manager would have had to call the agent, which it has lost."""
    message = f"Agent {agent} connection unavailable: connection unhealthy"
    title = "Agent connection unavailable."
    return RequestError(503, "agent-connection", title, "agent_request_unavailable", msg=message)


def too_many(name: str) -> RequestError:
    """Several sessions, ended ones among them, have had the name."""
    title = "Too many sessions matched."
    code = "session_read_conflict"
    return RequestError(404, "too-many-sessions-matched", title, code, msg=name)
