"""The options of `accelwatch simulate recovery`, and what they mean."""

from pathlib import Path
from typing import Annotated

import msgspec

from accelwatch.base.durations import seconds_with_unit
from accelwatch.base.errors import UsageError
from accelwatch.cli.parameters import option
from accelwatch_lab.recovery.detector import ASSUMED, Delay, Detector, Origin, Share
from accelwatch_lab.recovery.failures import Channel
from accelwatch_lab.recovery.measured import measured
from accelwatch_lab.recovery.outages import OutageTrace, outages_of
from accelwatch_lab.recovery.site import Site


class SiteFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The job and its site."""

    nodes: Annotated[
        int, option(metavar="N", min=2, max=100_000, help="Number of nodes of the job.")
    ] = 60
    devices: Annotated[int, option(metavar="N", min=1, max=1024, help="Devices per node.")] = 8
    load: Annotated[
        str, option(metavar="DURATION", help="Time from a start to the first productive step.")
    ] = "33m"
    save: Annotated[str, option(metavar="DURATION", help="How long a save stops the job.")] = "4m"
    save_interval: Annotated[
        str | None, option(metavar="DURATION", help="Time between two saves today, to compare.")
    ] = None
    repair: Annotated[
        str, option(metavar="DURATION", help="Mean time that a broken node is out of service.")
    ] = "6d"
    triage: Annotated[
        str, option(metavar="DURATION", help="Mean time until a person has a suspect.")
    ] = "30m"

    def site(self) -> Site:
        """The same in seconds. Raises UsageError."""
        interval = self.save_interval
        return Site(
            nodes=self.nodes,
            devices=self.devices,
            load_s=_above_zero("--load", self.load),
            save_s=_above_zero("--save", self.save),
            save_interval_s=None if interval is None else _above_zero("--save-interval", interval),
            repair_s=_above_zero("--repair", self.repair),
            triage_s=_above_zero("--triage", self.triage),
        )


class OutageFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Outages that a fleet has recorded."""

    outages: Annotated[
        Path | None,
        option(
            metavar="FILE",
            help="Recorded outages, JSON or gzip, from which spares are counted as well.",
        ),
    ] = None
    outage_servers: Annotated[
        int | None,
        option(
            metavar="N",
            min=1,
            max=1_000_000,
            help="Servers of that fleet, with and without outages.",
        ),
    ] = None

    def read(self) -> OutageTrace | None:
        """The outages. Raises UsageError, ConfigError."""
        if self.outages is None:
            if self.outage_servers is not None:
                raise UsageError("--outage-servers goes with --outages FILE")
            return None
        data = _bytes_of("--outages", self.outages)
        return outages_of(data, self.outages.name, self.outage_servers)


class DetectorFlags(msgspec.Struct, frozen=True, kw_only=True):
    """What the detector is worth: measured, stated, or else its goals."""

    measured: Annotated[
        Path | None,
        option(metavar="FILE", help="A scored run: detection_table.py --json, JSON or YAML."),
    ] = None
    detector: Annotated[
        str | None, option(metavar="NAME", help="The detector in that file, if it has several.")
    ] = None
    right_node: Annotated[
        str | None, option(metavar="SHARE", help="How often it names the right node: 0.9, 90%.")
    ] = None
    recall: Annotated[str | None, option(metavar="SHARE", help="Share of faults it finds.")] = None
    delay: Annotated[
        str | None, option(metavar="DURATION", help="From a fault to its alert, the same for all.")
    ] = None

    def read(self) -> Detector:
        """The detector. Raises UsageError, ConfigError."""
        if self.measured is None and self.detector is not None:
            raise UsageError("--detector goes with --measured FILE")
        return self._replaced(ASSUMED if self.measured is None else self._of_file(self.measured))

    def _of_file(self, path: Path) -> Detector:
        return measured(_bytes_of("--measured", path), path.name, self.detector)

    def _replaced(self, detector: Detector) -> Detector:
        """What an option states replaces what was measured."""
        changes: dict[str, object] = {}
        if self.right_node is not None:
            changes["right_node"] = _stated("--right-node", self.right_node)
        if self.recall is not None:
            stated = _stated("--recall", self.recall)
            changes["recall"] = dict.fromkeys(detector.recall, stated)
        if self.delay is not None:
            length = _above_zero("--delay", self.delay)
            changes["delays"] = dict.fromkeys(Channel, Delay(length, length, Origin.STATED))
        return msgspec.structs.replace(detector, **changes)


def _bytes_of(flag: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{flag} {path}: {error.strerror}") from error


def _stated(flag: str, text: str) -> Share:
    return Share(share_of(flag, text), Origin.STATED)


def share_of(flag: str, text: str) -> float:
    """`0.9` or `90%` as a share from 0 to 1. Raises UsageError."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{flag} is a share such as 0.9 or 90%, not {text[:40]!r}")
    return value


def _above_zero(flag: str, text: str) -> float:
    try:
        value = seconds_with_unit(text)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    if value <= 0.0:
        raise UsageError(f"{flag} must be longer than 0, not {text[:40]!r}")
    return value
