"""SelfSubjectAccessReview: whether the caller may do what it names."""

from typing import Any

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_lab.cluster.kubernetes.api_server.access import Access, Attributes, User
from accelwatch_lab.cluster.kubernetes.api_server.status import bad_request
from accelwatch_lab.cluster.kubernetes.api_server.verbs.discovery import AUTHORIZATION

PATH = f"/apis/{AUTHORIZATION}/v1/selfsubjectaccessreviews"


class _Resource(msgspec.Struct):
    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    resource_attributes: _Resource


class _Review(msgspec.Struct):
    spec: _Spec


def reviewed(access: Access, user: User, body: bytes) -> dict[str, Any]:
    """The review with its answer. Raises RequestError."""
    try:
        spec = msgspec.json.decode(body, type=_Review).spec.resource_attributes
        document = msgspec.json.decode(body)
    except DECODE_ERRORS as error:
        raise bad_request(f"SelfSubjectAccessReview: {error}") from error
    resource = f"{spec.resource}/{spec.subresource}" if spec.subresource else spec.resource
    desired = Attributes(
        verb=spec.verb,
        group=spec.group,
        resource=resource,
        namespace=spec.namespace,
        name=spec.name,
    )
    return {**document, "status": {"allowed": access.allows(user, desired)}}
