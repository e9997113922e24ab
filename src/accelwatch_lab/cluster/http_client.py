"""Requests to the servers of a lab, which are on loopback and answer at once."""

import http.client
from collections.abc import Mapping
from typing import Any

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError

_TIMEOUT_S = 5.0


class NoAnswerError(AccelwatchError):
    """A server of the lab does not answer, or refuses."""


def page(address: str, path: str) -> Any:
    """A JSON page of `host:port`. Raises NoAnswerError."""
    return _answer(address, "GET", path, None)


def post(address: str, path: str, document: Mapping[str, Any]) -> Any:
    """What is answered to a JSON document. Raises NoAnswerError."""
    return _answer(address, "POST", path, msgspec.json.encode(document))


def _answer(address: str, method: str, path: str, body: bytes | None) -> Any:
    connection = http.client.HTTPConnection(address, timeout=_TIMEOUT_S)
    headers = {} if body is None else {"Content-Type": "application/json"}
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswerError(f"{address} does not answer: {error!r}") from error
    finally:
        connection.close()
    if response.status != http.client.OK:
        reply = text[:300].decode("utf-8", "replace").strip()
        raise NoAnswerError(f"{address}{path} answered {response.status}: {reply}")
    try:
        return msgspec.json.decode(text)
    except DECODE_ERRORS as error:
        raise NoAnswerError(f"{address}{path} answered no JSON") from error
