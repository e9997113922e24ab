"""Metadata of an object.

Objects of the API are trees: the garbage collector leaves them alone (`gc=False`). With 100,000 pods and
their parts it would hold the loop for longer than reading a page of them does.
"""

from datetime import datetime

import msgspec


class OwnerReference(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """An object that an object belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Metadata(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """By what an object is known."""

    name: str = ""
    # Empty for what belongs to no namespace.
    namespace: str = ""
    # Of this object for ever; a namesake that is made later has another one.
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    # RFC 3339.
    creation_timestamp: str = ""
    # RFC 3339; set once the object is being deleted.
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def created(self) -> float:
        """Unix seconds; 0 where the server does not say."""
        return unix_seconds(self.creation_timestamp) or 0.0


def unix_seconds(text: str) -> float | None:
    """A time of the API in Unix seconds; None for none, and for what is no time."""
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None
