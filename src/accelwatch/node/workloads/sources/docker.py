"""Docker's containers, from its own files, readable for root: names, and Backend.AI's labels."""

import re
from pathlib import Path

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.node.workloads.settings import BACKENDAI
from accelwatch.node.workloads.sources.environ import Job, label

_ID = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES = 1 << 20


class _Labels(msgspec.Struct, frozen=True, kw_only=True):
    """The labels that Backend.AI's agent gives a session's containers; the two owners since 25.x.

    `ai.backend.owner` is the agent, and other labels hold e-mail addresses.
    """

    session: str = msgspec.field(default="", name="ai.backend.session-id")
    kernel: str = msgspec.field(default="", name="ai.backend.kernel-id")
    user: str = msgspec.field(default="", name="ai.backend.owner-user-id")
    project: str = msgspec.field(default="", name="ai.backend.owner-project-id")


class _Settings(msgspec.Struct, frozen=True, kw_only=True):
    Labels: _Labels | None = None


class _Config(msgspec.Struct, frozen=True, kw_only=True):
    """Of `config.v2.json` only name and labels are read: the rest holds the container's environment."""

    Name: str = ""
    Config: _Settings | None = None


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """A container; `session` is the Backend.AI session that it is a part of, if any."""

    name: str = ""
    session: Job | None = None


NOBODY = Container()


def container(root: Path, container_id: str) -> Container:
    """What Docker says of a container id; `NOBODY` when it does not know it or we may not read it."""
    if not _ID.fullmatch(container_id):
        return NOBODY
    path = root / "var/lib/docker/containers" / container_id / "config.v2.json"
    try:
        with path.open("rb") as file:
            config = msgspec.json.decode(file.read(_MAX_BYTES), type=_Config)
    except (*DECODE_ERRORS, OSError):
        return NOBODY
    labels = (config.Config.Labels if config.Config else None) or _Labels()
    return Container(name=label(config.Name.removeprefix("/")), session=_session(labels))


def _session(labels: _Labels) -> Job | None:
    if not labels.session:
        return None
    return Job(
        scheduler=BACKENDAI,
        job_id=label(labels.session),
        kernel=label(labels.kernel),
        user=label(labels.user),
        account=label(labels.project),
    )
