"""Requests of the lab's own programs to its API server, which is on loopback and answers at once."""

import http.client
import ssl
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.http_client import NoAnswerError
from accelwatch_lab.cluster.kubernetes.access import Access

_TIMEOUT_S = 5.0
_MERGE = "application/merge-patch+json"
Object = dict[str, Any]


class ApiRefusalError(AccelwatchError):
    """The API server has answered, and refused."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Api:
    """The API server, with the token of one account; for one thread."""

    def __init__(self, access: Access, *, lasting: bool = False) -> None:
        """`lasting`: one connection for all requests, which ends with the process."""
        self._lasting = lasting
        self._access = access
        self._connection: http.client.HTTPConnection | None = None

    def items(self, path: str, **query: str) -> list[Object]:
        """Every object of a list. Raises ApiRefusalError, NoAnswerError."""
        objects: list[Object] = self.get(path, **query)["items"]
        return objects

    def get(self, path: str, **query: str) -> Any:
        """An object or a list. Raises ApiRefusalError, NoAnswerError."""
        return self._request("GET", path, query, None)

    def find(self, path: str) -> Object | None:
        """An object; None when there is none. Raises ApiRefusalError, NoAnswerError."""
        try:
            single: Object = self.get(path)
        except ApiRefusalError as refusal:
            if refusal.status == http.client.NOT_FOUND:
                return None
            raise
        return single

    def create(self, path: str, body: Object) -> Any:
        """Into a list, or a subresource. Raises ApiRefusalError, NoAnswerError."""
        return self._request("POST", path, {}, body)

    def merge(self, path: str, body: Object) -> Any:
        """A merge patch. Raises ApiRefusalError, NoAnswerError."""
        return self._request("PATCH", path, {}, body, _MERGE)

    def delete(self, path: str, body: Object) -> Any:
        """With DeleteOptions. Raises ApiRefusalError, NoAnswerError."""
        return self._request("DELETE", path, {}, body)

    def is_ready(self) -> bool:
        """Whether the server says so."""
        try:
            return self._answer("GET", "/readyz", None, {})[0] == http.client.OK
        except NoAnswerError:
            return False

    def close(self) -> None:
        """Close the connection; the next request opens one again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Object | None,
        content_type: str = "application/json",
    ) -> Any:
        where = f"{path}?{urlencode(query)}" if query else path
        text = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": content_type}
        status, answer = self._answer(method, where, text, headers)
        try:
            document = msgspec.json.decode(answer)
        except DECODE_ERRORS:
            document = {"message": answer[:300].decode("utf-8", "replace")}
        if status >= http.client.BAD_REQUEST:
            message = document.get("message", "")
            raise ApiRefusalError(status, f"{method} {path} answered {status}: {message}")
        return document

    def _answer(
        self, method: str, where: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        """Raises NoAnswerError; the next call connects again."""
        try:
            if self._connection is None:
                self._connection = _connection(self._access)
            authorization = {"Authorization": f"Bearer {self._access.token}"}
            self._connection.request(method, where, body, {**headers, **authorization})
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise NoAnswerError(f"the API server does not answer: {error!r}") from error
        finally:
            if not self._lasting:
                self.close()


def _connection(access: Access) -> http.client.HTTPConnection:
    """Raises OSError."""
    context = ssl.create_default_context(cafile=access.ca_file)
    host = urlsplit(access.url).netloc
    return http.client.HTTPSConnection(host, timeout=_TIMEOUT_S, context=context)


def pod_path(pod: Object) -> str:
    """Where a pod is."""
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
