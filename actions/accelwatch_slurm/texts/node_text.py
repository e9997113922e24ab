"""A node as `scontrol --oneliner show node` prints it. Pure.

Reason, comment and extra are written by people and programs and may hold anything, `Extra=` too.
"""

import msgspec

from accelwatch.api_client.slurm.scontrol_text import pairs_of, states_of, without_reason

_NOTHING = ("(null)", "N/A", "n/a", "None", "Unknown", "")


class SlurmNode(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of a node. Times are Unix seconds of the controller's or the node's clock."""

    name: str
    # Base state, then flags, in capitals.
    states: tuple[str, ...]
    hostname: str = ""
    partitions: tuple[str, ...] = ()
    boot_time: float | None = None
    slurmd_start: float | None = None
    reason: str = ""
    set_by: str = ""
    set_at: float | None = None
    comment: str = ""
    extra: str = ""

    def is_(self, *flags: str) -> bool:
        """Whether it has one of the flags."""
        return not set(flags).isdisjoint(self.states)

    @property
    def drained(self) -> bool:
        """Whether it accepts no new work because a person or tool drained it."""
        return self.is_("DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING")

    @property
    def down(self) -> bool:
        """Whether the controller has given it up, or its power is off."""
        return self.is_("DOWN", "POWERED_DOWN", "POWERING_DOWN", "FUTURE", "ERROR")

    @property
    def is_down_or_error(self) -> bool:
        """Whether the controller has given it up; one without power may wait for work all the same."""
        return self.is_("DOWN", "ERROR")

    @property
    def answering(self) -> bool | None:
        """Whether its slurmd answers the controller; None just after the controller was started."""
        if self.is_("NOT_RESPONDING"):
            return False
        return None if self.is_("UNKNOWN") else True

    @property
    def rebooting(self) -> bool:
        """Whether Slurm has a request to reboot it and has not seen it again."""
        return self.is_("REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED")


def node_of(line: str) -> SlurmNode | None:
    """The node of a line; None for a line that is none."""
    reason, remaining = without_reason(line)
    pairs = pairs_of(remaining)
    if not pairs.get("NodeName") or not pairs.get("State"):
        return None
    return SlurmNode(
        name=pairs["NodeName"],
        states=states_of(pairs["State"].partition(" ")[0]),
        hostname=_text(pairs.get("NodeHostName")),
        partitions=tuple(
            partition for partition in _text(pairs.get("Partitions")).split(",") if partition
        ),
        boot_time=time_of(pairs.get("BootTime")),
        slurmd_start=time_of(pairs.get("SlurmdStartTime")),
        reason=_text(reason.text),
        set_by=reason.set_by,
        set_at=time_of(reason.set_at),
        comment=_text(pairs.get("Comment")),
        extra=_text(pairs.get("Extra")),
    )


def _text(value: str | None) -> str:
    return "" if value is None or value in _NOTHING else value


def time_of(text: str | None) -> float | None:
    """Unix seconds, as Slurm prints them with SLURM_TIME_FORMAT=%s; None where it is not known."""
    return float(text) if text and text.isascii() and text.isdigit() else None
