"""The past of hardware for the detector: confirmed faults as channel K counts them, by identity."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence

from accelwatch.base.names.hardware_keys import keys_of
from accelwatch.detection.channels.prior import ConfirmedIncident
from accelwatch.fleet.lemons.faults import Fault
from accelwatch.schema.device import Device


def identities_of(devices: Sequence[tuple[str, Device]]) -> dict[str, tuple[str, ...]]:
    """The keys of the serial number and the slot of each device by its id: for `Prior.also`.

    `devices` are those of all nodes, each with the name of its node.

    An id that devices of several nodes have, such as `nvidia:0000:65:00.0`, names none of them.
    """
    counts = Counter(device.id for _, device in devices)
    return {
        device.id: keys_of(node, slot=device.pci_bus_id or "", serial=device.serial or "")[1:]
        for node, device in devices
        if counts[device.id] == 1
    }


def confirmed_incidents(
    faults: Iterable[Fault], devices: Container[str]
) -> Iterator[ConfirmedIncident]:
    """Faults as `Detector.record_incidents` adds them up.

    Their keys are `device:ID`, where the id is one of `devices`, `serial:NUMBER`, `slot:NODE/ADDRESS`
    and `node:NODE`.
    """
    for fault in faults:
        of_device = (f"device:{fault.device}",) if fault.device in devices else ()
        yield ConfirmedIncident(fault.time, (*of_device, *fault.keys), fault.weight)
