"""What a list and a watch are made of; shapes: Kubernetes API reference, meta/v1."""

import msgspec


class ListMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`metadata` of a list."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Version(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`metadata` of an object as a version."""

    resource_version: str = ""


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """An object of which only the version matters: a bookmark."""

    metadata: Version


class WatchEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a watch."""

    type: str
    object: msgspec.Raw
