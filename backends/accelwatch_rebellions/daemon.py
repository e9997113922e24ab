"""The vendor's daemon on loopback, for machines that have it and no command: one call for all NPUs.

Service rblnservices.RBLNServices of drivers from 1.3.40 on (rbln_services.proto of
rbln-npu-feature-discovery). It reports no PCI id, which the driver's class folder has, and no
processes. proto3 leaves out what is 0: of a temperature, watts and the size of memory that is no value.
"""

import re
import struct
from pathlib import Path

from accelwatch.backend.kit.grpc.call import stream
from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.backend.kit.grpc.protobuf import fields
from accelwatch.base.clock import Clock
from accelwatch.base.errors import ReadError
from accelwatch.system.kernel import sysfs
from accelwatch_rebellions.document import Npu, ToolOutput, distinct, npu_of

SOURCE = "rbln-daemon"
PORT = 50051
METHOD = "/rblnservices.RBLNServices/getTotalInfo"
_NAME, _UUID, _FIRMWARE, _DRIVER, _FAILED = 1, 2, 7, 8, 10
_SIZE, _USED, _CELSIUS, _WATTS, _LOAD = 3, 4, 5, 6, 9
# Newer daemons send thousandths of a degree and microwatts in the same fields.
_HOTTEST, _MOST_WATTS = 1000.0, 10_000.0
_GIB = 1 << 30
_NODE = re.compile(r"rbln(\d{1,6})")
# No number: a reader that wants one gets an error.
_UNREAD = "failed"


def read_document(root: Path, port: int, *, timeout_s: float, clock: Clock) -> ToolOutput:
    """All NPUs now. Raises ReadError."""
    try:
        infos = stream(port, METHOD, b"", timeout_s=timeout_s, clock=clock)
        listed = [fields_of(info) for info in infos]
    except SourceError as error:
        raise ReadError(f"the daemon of Rebellions: {error}", code="grpc") from error
    npus = (_npu(root, device) for device in listed)
    versions = [str(device["driver"]) for device in listed if device.get("driver")]
    return ToolOutput(
        driver_version=versions[0] if versions else None,
        npus=distinct(npu for npu in npus if npu is not None),
        contexts=None,
    )


def _npu(root: Path, device: dict[str, object]) -> Npu | None:
    """In the words of rbln-smi's document; the PCI id is that of the driver's folder."""
    node = _NODE.fullmatch(str(device.get("device", "")))
    if node is None:
        return None
    bus = sysfs.link_name(root / "sys/class/rebellions" / node[0] / "device")
    return npu_of({**device, "npu": int(node[1]), "pci": {"bus_id": bus} if bus else {}})


def fields_of(info: bytes) -> dict[str, object]:
    """A DeviceInfo as fields of rbln-smi's document. Raises SourceError for what is no message."""
    texts: dict[int, str] = {}
    numbers: dict[int, float] = {}
    failed = False
    for number, value in fields(info):
        if isinstance(value, bytes) and number in (_NAME, _UUID, _FIRMWARE, _DRIVER):
            texts[number] = value.decode("utf-8", "replace")[:80]
        elif isinstance(value, bytes) and len(value) == 4:
            (numbers[number],) = struct.unpack("<f", value)
        elif number == _FAILED:
            failed = value != 0
    celsius, watts = numbers.get(_CELSIUS, 0.0), numbers.get(_WATTS, 0.0)
    celsius = celsius / 1e3 if celsius > _HOTTEST else celsius
    watts = watts / 1e6 if watts > _MOST_WATTS else watts
    size, used = numbers.get(_SIZE, 0.0) * _GIB, numbers.get(_USED, 0.0) * _GIB
    return {
        "device": texts.get(_NAME, ""),
        "uuid": texts.get(_UUID, ""),
        "fw_ver": texts.get(_FIRMWARE, ""),
        "driver": texts.get(_DRIVER, ""),
        "temperature": _UNREAD if failed else celsius or None,
        "card_power": _UNREAD if failed else watts or None,
        "util": _UNREAD if failed else numbers.get(_LOAD, 0.0),
        "memory": {
            "total": _UNREAD if failed else size or None,
            "used": _UNREAD if failed else (used if size else None),
        },
    }
