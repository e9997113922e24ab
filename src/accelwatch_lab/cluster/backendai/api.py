"""Requests of the lab's own programs to its manager, which is on loopback."""

import http.client
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from accelwatch.api_client.backendai.signing import signed_headers
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.backendai.access import Keys
from accelwatch_lab.cluster.http_client import NoAnswerError

# Ending a session and moving an agent wait for the agent.
_TIMEOUT_S = 60.0
Object = dict[str, Any]


class ApiRefusalError(AccelwatchError):
    """The manager has answered, and refused."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Api:
    """The manager's API, with the keys of one account."""

    def __init__(self, keys: Keys, timeout_s: float = _TIMEOUT_S) -> None:
        self._keys = keys
        self._timeout_s = timeout_s

    def get(self, path: str, **query: str) -> Any:
        """What is there. Raises ApiRefusalError, NoAnswerError."""
        return self._request("GET", path, query, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Raises ApiRefusalError, NoAnswerError."""
        return self._request("POST", path, {}, body)

    def delete(self, path: str, **query: str) -> Any:
        """Raises ApiRefusalError, NoAnswerError."""
        return self._request("DELETE", path, query, None)

    def graphql(self, query: str, **variables: object) -> Any:
        """The data of an answer without errors. Raises ApiRefusalError, NoAnswerError."""
        answer = self.post("/admin/gql", {"query": query, "variables": variables})
        if answer.get("errors"):
            raise ApiRefusalError(http.client.OK, str(answer["errors"])[:300])
        return answer.get("data", answer)

    def change(self, mutation: str, **variables: object) -> None:
        """Have a mutation done whose fields have `ok` and `msg`. Raises as `graphql` does."""
        for name, outcome in self.graphql(mutation, **variables).items():
            if not outcome["ok"]:
                raise ApiRefusalError(http.client.OK, f"{name}: {outcome['msg']}")

    def _request(
        self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any] | None
    ) -> Any:
        target = f"{path}?{urlencode(query)}" if query else path
        text = None if body is None else msgspec.json.encode(body)
        status, answer = self._answer(method, target, text)
        try:
            document = msgspec.json.decode(answer) if answer else None
        except DECODE_ERRORS:
            document = {"title": answer[:300].decode("utf-8", "replace")}
        if status >= http.client.BAD_REQUEST:
            raise ApiRefusalError(status, f"{method} {path} answered {status}: {document}"[:500])
        return document

    def _answer(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes]:
        """Raises NoAnswerError."""
        url, access_key, secret_key = self._keys
        host = urlsplit(url).netloc
        keys = {"access_key": access_key, "secret_key": secret_key}
        headers = signed_headers(method, target, host=host, **keys, at=time.time())
        connection = http.client.HTTPConnection(host, timeout=self._timeout_s)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswerError(f"the manager does not answer: {error!r}") from error
        finally:
            connection.close()
