"""The script's standard output, split at the marks. Pure; raises TargetFault."""

import re

import msgspec

from accelwatch.backend.kit.remote import CommandOutput, RemoteCommand
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault

_MAX_LINES = 256
_PCI = re.compile(r"0x([0-9a-f]{4}) 0x([0-9a-f]{6})")


class HostProbe(msgspec.Struct, frozen=True, kw_only=True):
    """What there is on a host."""

    # Paths of those commands that it has.
    programs: tuple[str, ...] = ()
    # Whether accelwatch is installed.
    ours: bool = False
    # Vendors of the displays and accelerators on its PCI bus, `10de`.
    pci_vendors: frozenset[str] = frozenset()


def end_of_probe(marker: str) -> bytes:
    """What the answer to `look` ends with."""
    return f"{marker} ready\n".encode()


def start_of_stream(marker: str) -> bytes:
    """What stands before the first message of a stream."""
    return f"\n{marker} stream\n".encode()


def end_of_round(marker: str) -> bytes:
    """What a round ends with."""
    return f"\n{marker} done\n".encode()


def parse_probe(body: bytes, marker: str) -> HostProbe:
    """The answer to `look`; what a login shell printed before it is left out. Raises TargetFault."""
    _, separator, output = body.partition(f"\n{marker} look\n".encode())
    if not separator:
        raise TargetFault(Reason.GARBAGE, "its /bin/sh gave an unexpected answer")
    programs: list[str] = []
    vendors: set[str] = set()
    ours = False
    for line in output.decode("utf-8", "replace").splitlines()[:_MAX_LINES]:
        keyword, _, value = line.partition(" ")
        ours = ours or line == "ours"
        if keyword == "program":
            programs.append(value)
        elif keyword == "pci" and (match := _PCI.fullmatch(value)):
            vendors.add(match[1])
    return HostProbe(programs=tuple(programs), ours=ours, pci_vendors=frozenset(vendors))


def outputs_of(body: bytes, marker: str) -> dict[str, CommandOutput]:
    """What the commands of a round printed, by their names. Raises TargetFault."""
    outputs: dict[str, CommandOutput] = {}
    start_marker = f"\n{marker} begin ".encode()
    at = body.find(start_marker)
    while at >= 0:
        line_end = body.find(b"\n", at + len(start_marker))
        status_at = body.find(f"\n{marker} status ".encode(), line_end)
        status_end = body.find(b"\n", status_at + 1)
        end = body.find(f"\n{marker} end\n".encode(), status_end)
        if min(line_end, status_at, status_end, end) < 0:
            raise TargetFault(Reason.GARBAGE, "what its commands print breaks off")
        name, _, program = (
            body[at + len(start_marker) : line_end].decode("utf-8", "replace").partition(" ")
        )
        outputs[name] = CommandOutput(
            program=program,
            output=body[line_end + 1 : status_at],
            errors=body[status_end + 1 : end].decode("utf-8", "replace").strip(),
            status=_status(body[status_at:status_end]),
        )
        at = body.find(start_marker, end)
    return outputs


def is_due(body: bytes, marker: str, name: str, command: RemoteCommand) -> bool:
    """Whether a command is to be run because the one before it was run and has failed.

    Called for one command after the other it holds for a chain of them. Raises TargetFault.
    """
    if not command.if_fails:
        return False
    before = outputs_of(body, marker).get(f"{name.partition('.')[0]}.{command.if_fails}")
    return before is not None and before.status != 0


def _status(line: bytes) -> int:
    token = line.rsplit(b" ", 1)[-1]
    if not token.isdigit() or len(token) > 3:
        raise TargetFault(Reason.GARBAGE, "its shell reports no exit status")
    return int(token)
