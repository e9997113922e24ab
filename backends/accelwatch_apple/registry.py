"""What ioreg prints of the GPU's driver and of the machine: property lists, or its tree of text. Pure.

The driver's object is of a class of its own for each generation (AGXAcceleratorG13X, ...G16G). Those
who use the GPU are its children, one object for each connection: `IOUserClientCreator` is who,
`AppUsage` how long the GPU worked for it, in nanoseconds.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from accelwatch.base.errors import ReadError
from accelwatch.base.untrusted_text import printable
from accelwatch_apple.property_lists import property_list
from accelwatch_apple.sample import block

Properties = Mapping[str, object]
_CREATOR = re.compile(r"pid (\d{1,9})(?:, ?(.*))?", re.ASCII | re.DOTALL)
_OBJECT = re.compile(r"([ |]*)\+-o (.*?)(?:  <class ([\w.]+).*)?")
_PROPERTY = re.compile(r'[ |]*"([^"]{1,80})" ?= ?(.*)')
_PAIR = re.compile(r'"([^"]{1,80})"=(-?\d{1,20}|"[^"]*")')
_INTEGER = re.compile(r"-?\d{1,20}", re.ASCII)
_MAX_CLIENTS = 4096
# The kernel keeps 16 bytes.
_MAX_NAME = 64


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A process that has the GPU open, its connections merged."""

    pid: int
    # As the kernel keeps it: its first bytes.
    command: str | None
    # How long the GPU worked for it since it connected; None where unknown.
    gpu_ns: int | None


class Accelerator(msgspec.Struct, frozen=True, kw_only=True):
    """The object of a GPU's driver."""

    # Its class, such as AGXAcceleratorG13X.
    kind: str | None
    model: str | None
    # `PerformanceStatistics`: percent, bytes and counts.
    statistics: Properties
    clients: tuple[Client, ...]


def parse_accelerators(output: bytes) -> tuple[Accelerator, ...]:
    """GPUs of `ioreg -r -c IOAccelerator -d 2`, with or without `-a`; no output is none.

    Raises ReadError for what is neither of ioreg's forms.
    """
    entries = list(_entries(output))
    accelerators = [entry for entry in entries if not _is_client(entry)]
    return tuple(_accelerator(entry) for entry in accelerators)


def parse_platform(output: bytes) -> Properties:
    """Properties of `ioreg -r -d 1 -c IOPlatformExpertDevice`; empty where there are none.

    Raises ReadError for what is neither of ioreg's forms.
    """
    return next(_entries(output), {})


def text_of(properties: Properties, key: str) -> str | None:
    """A text, also one given as bytes with a NUL; None where there is none."""
    value = properties.get(key)
    if isinstance(value, bytes):
        value = value.partition(b"\0")[0].decode("utf-8", "replace")
    if not isinstance(value, str):
        return None
    clean = printable(value, instead="").strip()[:120]
    return None if clean.lower() in ("", "n/a", "none", "unknown", "not available") else clean


def _entries(output: bytes) -> Iterator[Properties]:
    """Objects at the roots of what was printed, each with its children."""
    if not output.strip():
        return
    if b"<plist" in output:
        document = property_list(output)
        if document is None:
            raise ReadError("ioreg printed a property list that cannot be read", code="garbage")
        entries = document if isinstance(document, list) else [document]
        yield from (entry for entry in entries if isinstance(entry, dict))
        return
    if b"+-o " not in output:
        raise ReadError("ioreg printed no object", code="garbage")
    yield from _of_text(output.decode("utf-8", "replace"))


def _of_text(text: str) -> list[Properties]:
    """The tree of text: an object stands deeper than its parent; deeper ones are all children."""
    roots: list[dict[str, object]] = []
    depth, current = 0, None
    for line in text.splitlines():
        header = _OBJECT.fullmatch(line.rstrip())
        if header is not None:
            current = {"IOObjectClass": header[3] or header[2].strip()}
            if not roots or len(header[1]) <= depth:
                depth = len(header[1])
                roots.append({**current, "IORegistryEntryChildren": []})
                current = roots[-1]
            else:
                children = roots[-1]["IORegistryEntryChildren"]
                assert isinstance(children, list)
                children.append(current)
        elif current is not None and (match := _PROPERTY.fullmatch(line.rstrip())) is not None:
            current.setdefault(match[1], _value(match[2]))
    return list(roots)


def _value(text: str) -> object:
    """A number, a text, pairs of these; of a list of pairs (`AppUsage`) all in one."""
    if text.startswith("("):
        return [_pairs(chunk) for chunk in text.split("}") if "{" in chunk]
    if text.startswith("{"):
        return _pairs(text)
    if text.startswith("<") and text.endswith(">"):
        inner = text[1:-1]
        return inner.strip('"') if inner.startswith('"') else None
    return _plain(text)


def _pairs(text: str) -> dict[str, object]:
    return {key: _plain(value) for key, value in _PAIR.findall(text)}


def _plain(text: str) -> object:
    return int(text) if _INTEGER.fullmatch(text) else text.strip('"')


def _is_client(entry: Properties) -> bool:
    return "IOUserClientCreator" in entry


def _accelerator(entry: Properties) -> Accelerator:
    children = entry.get("IORegistryEntryChildren")
    listed = children[:_MAX_CLIENTS] if isinstance(children, list) else []
    return Accelerator(
        kind=text_of(entry, "IOClass") or text_of(entry, "IOObjectClass"),
        model=text_of(entry, "model"),
        statistics=block(entry, "PerformanceStatistics"),
        clients=_together(child for child in listed if isinstance(child, dict)),
    )


def _together(children: Iterator[Properties]) -> tuple[Client, ...]:
    by_pid: dict[int, Client] = {}
    for child in children:
        creator = child.get("IOUserClientCreator")
        match = _CREATOR.fullmatch(creator) if isinstance(creator, str) else None
        if match is None or not 0 < int(match[1]) < 1 << 31:
            continue
        name = (match[2] or "")[:_MAX_NAME] or None
        client = Client(pid=int(match[1]), command=name, gpu_ns=_gpu_ns(child))
        before = by_pid.get(client.pid)
        if before is not None:
            times = [entry.gpu_ns for entry in (before, client) if entry.gpu_ns is not None]
            client = msgspec.structs.replace(before, gpu_ns=sum(times) if times else None)
        by_pid[client.pid] = client
    return tuple(by_pid[pid] for pid in sorted(by_pid))


def _gpu_ns(child: Properties) -> int | None:
    usage = child.get("AppUsage")
    entries = [child, *(usage if isinstance(usage, list) else [])]
    times = [entry.get("accumulatedGPUTime") for entry in entries if isinstance(entry, dict)]
    valid = [
        value
        for value in times
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0
    ]
    return sum(valid) if valid else None
