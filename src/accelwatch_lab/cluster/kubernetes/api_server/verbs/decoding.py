"""From the body of a write to an object: of the right kind, unknown fields dropped or refused."""

from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server import status
from accelwatch_lab.cluster.kubernetes.api_server.call import Call
from accelwatch_lab.cluster.kubernetes.api_server.objects import schema

Object = dict[str, Any]


def claimed(call: Call, body: Object) -> Object:
    """The body, if it is of the kind of its path. Raises RequestError."""
    resource = call.resource
    kind, version = body.get("kind"), body.get("apiVersion")
    if kind is None and not resource.schema:
        raise status.bad_request("Object 'Kind' is missing")
    versions = (None, resource.api_version(call.version))
    if kind not in (None, resource.kind) or version not in versions:
        text = f'{kind} in version "{version}" cannot be handled as a {resource.kind}'
        raise status.bad_request(text)
    return body


def decoded(call: Call, body: Object) -> tuple[Object, list[str]]:
    """The object without unknown fields, and these. Raises RequestError: with Strict for any of them."""
    resource = call.resource
    try:
        stored, unknown = schema.pruned(resource.schema, body)
    except schema.WrongTypeError as error:
        raise _undecodable(call, f"json: {error}") from error
    if unknown and call.strict:
        fields = ", ".join(f'unknown field "{field}"' for field in unknown)
        raise _undecodable(call, f"strict decoding error: {fields}")
    # First in the text of an object, and as it is stored.
    kind = {"kind": resource.kind, "apiVersion": resource.api_version()}
    return {**kind, **stored, **kind}, unknown


def _undecodable(call: Call, problem: str) -> status.RequestError:
    """A create or update is a bad request, a patch leads to an invalid object."""
    kind = call.resource.kind
    if call.verb == "patch":
        text = f'Invalid value: "{{...}}": {problem}'
        cause = {"reason": "FieldValueInvalid", "message": text, "field": "patch"}
        return status.RequestError(422, "Invalid", f' "" is invalid: patch: {text}', causes=[cause])
    where = f'{kind} in version "{call.version}" cannot be handled as a {kind}'
    return status.bad_request(f"{where}: {problem}")
