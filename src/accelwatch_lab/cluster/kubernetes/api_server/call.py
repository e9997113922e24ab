"""One request of the API, read from its path and query: verb, resource, namespace, name, subresource."""

from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import Registry, Resource
from accelwatch_lab.cluster.kubernetes.api_server.status import (
    bad_request,
    no_group,
    no_resource,
)

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_MEBIBYTE = 1 << 20
# Of a request, as the server's limit is.
MOST_BYTES = 3 * _MEBIBYTE


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request's verb and its object or objects."""

    verb: str
    resource: Resource
    # Of the API, as the path has it.
    version: str
    namespace: str
    # Empty for a list, a watch of many, a create.
    name: str
    subresource: str
    query: Mapping[str, str]
    content_type: str
    accept: str
    body: bytes
    # Who sends it.
    user: str = ""

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be stored. Raises RequestError."""
        value = self.query.get("dryRun", "")
        if value not in ("", "All"):
            raise bad_request(f'Invalid value: "{value}": dryRun must be All')
        return value == "All"

    @property
    def strict(self) -> bool:
        """Whether unknown fields are refused."""
        return self.query.get("fieldValidation") == "Strict"

    def document(self) -> Any:
        """The body, decoded. Raises RequestError."""
        try:
            return msgspec.json.decode(self.body)
        except DECODE_ERRORS as error:
            raise bad_request(f"json parse error: {error}") from error

    def object(self) -> dict[str, Any]:
        """The body, an object. Raises RequestError."""
        document = self.document()
        if not isinstance(document, dict):
            raise bad_request(
                f"the object provided is unrecognized (must be of type {self.resource.kind})"
            )
        return document


def parsed(registry: Registry, request: web.BaseRequest, body: bytes) -> Call:
    """The call of a request. Raises RequestError: 404 where nothing is served under the path."""
    query = dict(request.query)
    group, version, segments = _split(request.path)
    namespace = ""
    if (
        len(segments) > 2
        and segments[0] == "namespaces"
        and segments[2] not in ("status", "finalize")
    ):
        namespace, segments = segments[1], segments[2:]
    if not registry.serves(group, version):
        raise no_group()
    resource = registry.find(group, version, segments[0]) if segments else None
    if resource is None or len(segments) > 3 or (namespace and not resource.namespaced):
        raise no_resource()
    name, subresource = [*segments[1:], "", ""][:2]
    return Call(
        verb=_verb(request.method, name, query),
        resource=resource,
        version=version,
        namespace=namespace,
        name=name,
        subresource=subresource,
        query=query,
        content_type=request.headers.get("Content-Type", "").partition(";")[0].strip(),
        accept=request.headers.get("Accept", ""),
        body=body,
    )


def _split(path: str) -> tuple[str, str, list[str]]:
    segments = path.strip("/").split("/")
    if segments[0] == "api" and len(segments) > 2:
        return "", segments[1], segments[2:]
    if segments[0] == "apis" and len(segments) > 3:
        return segments[1], segments[2], segments[3:]
    raise no_group()


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method in ("GET", "HEAD"):
        if query.get("watch") in ("1", "true"):
            return "watch"
        return "get" if name else "list"
    verb = _VERBS.get(method)
    if verb is None:
        raise no_resource()
    return "deletecollection" if verb == "delete" and not name else verb
