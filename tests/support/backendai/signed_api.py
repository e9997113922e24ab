"""A manager's API that checks the signature of each request as the manager does, and then answers.

The check is written from the manager's side: from the head of the request as it came.
"""

import contextlib
import hashlib
import hmac
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from aiohttp import web

from support.servers.scripted_api import Answering, ScriptedApi, scripted

ACCESS_KEY = "AKIAUNITTESTKEY00001"
SECRET_KEY = "unit/test+secret+key+of+forty+characters"
_PROBLEMS = "https://api.backend.ai/probs/"


def problem(
    status: int, kind: str, title: str, msg: str | None = None, **data: object
) -> Answering:
    """A refusal as the manager writes it."""
    body: dict[str, object] = {"type": _PROBLEMS + kind, "title": title}
    if msg is not None:
        body["msg"] = msg
    if data:
        body["data"] = data

    async def answer(_request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(body, status=status)

    return answer


def refusal(
    request: web.BaseRequest, *, host: str = "", prefix: str = "", now: datetime | None = None
) -> str:
    """Why a request is not authenticated; empty when it is.

    `host` is what a proxy sends on in place of the client's Host, `prefix` what it takes from the path.
    """
    date = datetime.fromisoformat(request.headers["Date"])
    if abs((now or datetime.now(UTC)) - date) >= timedelta(minutes=15):
        return "Date/time sync error"
    scheme, _, rest = request.headers["Authorization"].partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    access_key, _, signature = fields["credential"].partition(":")
    if (scheme, fields["signMethod"], access_key) != ("BackendAI", "HMAC-SHA256", ACCESS_KEY):
        return "Access key not found in HMAC"
    seen_host = host or request.headers["Host"]
    path = request.raw_path.removeprefix(prefix)
    text = (
        f"{request.method}\n{path}\n{request.headers['Date']}\nhost:{seen_host}\n"
        f"content-type:{request.content_type}\n"
        f"x-backendai-version:{request.headers['X-BackendAI-Version']}\n"
        f"{hashlib.sha256().hexdigest()}"
    )
    key = hmac.new(SECRET_KEY.encode(), date.strftime("%Y%m%d").encode(), "sha256").digest()
    key = hmac.new(key, seen_host.encode(), "sha256").digest()
    expected = hmac.new(key, text.encode(), "sha256").hexdigest()
    return "" if expected == signature else "HMAC signature mismatch"


def checked(answer: Answering, *, host: str = "", prefix: str = "") -> Answering:
    """The answer, for a request that is signed well."""

    async def check(request: web.BaseRequest) -> web.StreamResponse:
        if why := refusal(request, host=host, prefix=prefix):
            refused = problem(401, "auth-failed", "Credential/signature mismatch.", why)
            return await refused(request)
        return await answer(request)

    return check


@contextlib.asynccontextmanager
async def signed(
    *answers: Answering, host: str = "", prefix: str = ""
) -> AsyncIterator[ScriptedApi]:
    """The API with its script."""
    async with scripted(*(checked(answer, host=host, prefix=prefix) for answer in answers)) as api:
        yield api
