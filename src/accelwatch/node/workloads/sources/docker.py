"""Names of Docker's containers, from its own files, readable for root."""

import re
from pathlib import Path

import msgspec

from accelwatch.node.workloads.sources.environ import label

_ID = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES = 1 << 20


class _Config(msgspec.Struct, frozen=True, kw_only=True):
    """Of `config.v2.json` only the name is taken: the rest holds the container's environment."""

    Name: str = ""


def name(root: Path, container: str) -> str:
    """Name of a container id; empty when Docker does not know it or we may not read it."""
    if not _ID.fullmatch(container):
        return ""
    path = root / "var/lib/docker/containers" / container / "config.v2.json"
    try:
        with path.open("rb") as file:
            config = msgspec.json.decode(file.read(_MAX_BYTES), type=_Config)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return label(config.Name.removeprefix("/"))
