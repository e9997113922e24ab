"""Backend.AI's sessions on this node by the scratch folders of their kernels, idle devices included.

`<scratch root>/<kernel id>/config/resource.txt` has a line `<SLOT>_SHARES=<device>:<amount>,...` for
each kind of device, and `CID=` with the container; `environ.txt` beside it has the kernel's environment,
of which only what `environ` names is kept. Backend.AI's agent writes both; a user cannot.
"""

import os
import re
import tomllib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

import msgspec

from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.node.workloads.settings import BACKENDAI
from accelwatch.node.workloads.sources import environ, regular_file
from accelwatch.node.workloads.sources.environ import Job

# The agent's own default, `./scratches`, depends on the folder that it was started in; this one is its
# documentation's for production.
DEFAULT_ROOT = "/var/lib/backend.ai/scratches"
AGENT_CONFIG = "/etc/backend.ai/agent.toml"
# Of what the platform sets.
_PREFIX = "BACKENDAI_"
_KERNEL = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONTAINER = re.compile(r"[0-9a-f]{64}")
_SHARES = re.compile(r"([A-Z0-9-]{1,32})(?:\.[A-Z0-9._-]{1,64})?_SHARES")
_MAX_KERNELS = 1_024
_MAX_DEVICES = 256
_MAX_BYTES = 64 << 10


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """A container of a session and the devices that it was given."""

    session: Job
    # Container id; empty where the backend is not Docker.
    container: str = ""
    # (device name of the slot: `cuda`, device id: an index, a uuid)
    devices: tuple[tuple[str, str], ...] = ()


def scratch_root(root: Path, configured: Path | None) -> Path:
    """Where the scratch folders are. Raises SourceError where that is not known."""
    if configured is not None:
        return configured
    config = root / AGENT_CONFIG.lstrip("/")
    content = regular_file.content(config, _MAX_BYTES)
    declared = _declared(content or b"")
    if declared and not PurePosixPath(declared).is_absolute():
        raise SourceError(
            f"{AGENT_CONFIG}: scratch-root {declared!r} is relative to where Backend.AI's agent started",
            reason="unknown",
            remedy="set workloads.scratch_root to the folder",
        )
    folder = root / (declared or DEFAULT_ROOT).lstrip("/")
    # The platform is here, which must not look like a node without it.
    if content is None and os.path.lexists(config) and not os.path.isdir(folder):  # noqa: PTH112
        raise SourceError(
            f"{AGENT_CONFIG} cannot be read, and there is no {DEFAULT_ROOT}",
            reason="permission",
            remedy="set workloads.scratch_root to the folder, or run as root",
        )
    return folder


def _declared(content: bytes) -> str:
    """`container.scratch-root` of the agent's configuration; all else in it, secrets too, is dropped."""
    try:
        container = tomllib.loads(content.decode()).get("container")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return ""
    if not isinstance(container, dict):
        return ""
    declared = container.get("scratch-root", container.get("scratch_root"))
    return declared if isinstance(declared, str) else ""


def read(folder: Path) -> tuple[Kernel, ...]:
    """The kernels that have a scratch folder. Raises SourceError when none of them can be read."""
    try:
        with os.scandir(folder) as entries:
            names = (entry.name for entry in entries)
            kernels = sorted(islice(filter(_KERNEL.fullmatch, names), _MAX_KERNELS))
    except PermissionError as error:
        raise SourceError(f"{folder}: permission denied", reason="permission") from error
    except OSError as error:
        raise SourceError(f"{folder}: {error.strerror}", reason="absent") from error
    readable = [kernel for name in kernels if (kernel := _kernel(folder / name)) is not None]
    if kernels and not readable:
        raise SourceError(
            f"{folder}: no configuration of its {len(kernels)} kernels can be read",
            reason="permission",
            remedy="run with the user of Backend.AI's agent, or as root",
        )
    return tuple(readable)


def _kernel(folder: Path) -> Kernel | None:
    resources = regular_file.content(folder / "config/resource.txt", _MAX_BYTES)
    variables = regular_file.content(folder / "config/environ.txt", environ.MAX_ENVIRON_BYTES)
    if resources is None or variables is None:
        return None
    session = _session(variables)
    if session is None or session.kernel != folder.name:
        return None
    lines = dict(_lines(resources.decode("utf-8", "replace")))
    container = lines.get("CID", "")
    return Kernel(
        session=session,
        container=container if _CONTAINER.fullmatch(container) else "",
        devices=tuple(islice(_devices(lines), _MAX_DEVICES)),
    )


def _session(content: bytes) -> Job | None:
    """The session that the environment names; None where it names two.

    A value of the user's may have lines of its own, before or after what the platform sets: a name that
    he has set as well keeps its position among the variables. Of two values neither is believed.
    """
    entries = set(environ.recognised_entries(content, b"\n"))
    platform = {entry for entry in entries if entry[0].startswith(_PREFIX)}
    variables = dict(platform)
    return environ.job(variables, BACKENDAI) if len(variables) == len(platform) else None


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            yield name.strip(), value.strip()


def _devices(lines: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in lines.items():
        match = _SHARES.fullmatch(name)
        for entry in value.split(",") if match else ():
            # Ids may have colons (PCI), amounts have none.
            device, colon, amount = entry.strip().rpartition(":")
            if match and colon and device and amount.strip("0."):
                yield match[1].lower(), environ.label(device)
