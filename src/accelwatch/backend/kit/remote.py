"""The contract of reading a machine on which nothing of ours runs: commands there, understood here.

A backend that understands what a vendor's command prints says on its class where its `Remote` is. The
commands are run by whoever can reach the machine (`accelwatch fleet --ssh`); their words come back as
bytes, and nothing in /sys, /proc or /dev of this machine says anything about them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from accelwatch.base.errors import DevicePermission, DeviceTimeout, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.processes.complete_output import CompletenessCheck, has_full_output, never
from accelwatch.system.processes.printed import plain

# A shell's status of a file that is there and cannot be run.
_NOT_ALLOWED = 126
_SHOWN = 200


class RemoteCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One command that is run in every round, where it is installed."""

    # By what its output is known: letters and digits.
    key: str
    # Names of the program; the first that is there is run.
    programs: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    # Absolute folders in which it is looked for after PATH and the usual ones.
    folders: tuple[str, ...] = ()
    timeout_s: float = 10.0
    # Key of a command before it: this one is run only when that one has not ended with status 0.
    if_fails: str = ""
    # A folder: it runs for each entry, whose name is its last argument, with the key `key/entry`.
    each_in: str = ""
    # Arguments of a listing that the same program prints: it is run for each row of numbers, on a
    # connection until all have ended with status 0. Its answers are `key/4-0` and so on; `row_options`
    # name the first words of a row.
    rows_of: tuple[str, ...] = ()
    row_options: tuple[str, ...] = ()


class CommandOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a command printed there."""

    # The path that was run.
    program: str
    output: bytes
    # Its standard error, at most 2000 bytes of it.
    errors: str = ""
    # Its exit status, as a shell reports it: 124 and 137 when it was killed at its timeout.
    status: int = 0

    @property
    def late(self) -> bool:
        """Whether it was killed at its timeout; timeout(1)."""
        return self.status in (124, 137)

    def printed(self, is_complete: CompletenessCheck = never) -> bytes:
        """What it printed, without colours, if it ended well or `is_complete` says that this is
        everything.

        Raises DeviceTimeout, DevicePermission, ReadError.
        """
        name = self.program.rpartition("/")[2]
        if self.late:
            raise DeviceTimeout(f"{name} did not end in time", code="timeout")
        if self.status == _NOT_ALLOWED:
            raise DevicePermission(f"{self.program} may not be run there", code="permission")
        output = plain(self.output)
        if self.status and not has_full_output(self.status, output, is_complete):
            output_text = self.errors or output[:_SHOWN].decode("utf-8", "replace")
            first = next((line.strip() for line in output_text.splitlines() if line.strip()), "")
            text = (
                f"{name} ended with status {self.status}: {first[:_SHOWN] or 'it printed nothing'}"
            )
            raise ReadError(text, code="command_failed")
        return output


# What the commands of a round printed, by their keys; only of those that were run.
Outputs = Mapping[str, CommandOutput]

# A device or a partition, identified, and what was read of it, or why nothing was.
RemoteRow = tuple[Device, Reading | ReadError]


class RemoteReader(Protocol):
    """Reads the rounds of one machine, one after the other; it may remember what it has seen."""

    def read(self, outputs: Outputs) -> Sequence[RemoteRow]:
        """The devices by the outputs that came, by key; a whole device before its partitions.

        Raises ReadError or BackendUnavailable when the outputs list no device and say why.
        """
        ...


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """How a vendor's devices are read on a machine that only has the vendor's commands."""

    commands: tuple[RemoteCommand, ...]
    # Makes the reader of one machine.
    reader: Callable[[], RemoteReader]
    # PCI vendor ids, `10de`: where such an accelerator is on the bus, a command is missed.
    pci_vendors: tuple[str, ...] = ()


@runtime_checkable
class RemotelyRead(Protocol):
    """Optional declaration of a backend, on its class; it is read without building the backend."""

    # `module:attribute` of its Remote, so that nobody else imports what understands the commands.
    remote: str
