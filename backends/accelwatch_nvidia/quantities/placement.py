"""Where a GPU stands: its clique and cluster of the NVLink fabric, its rack and its baseboard. Pure."""

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_nvidia.quantities.fabric import Registration

# On a fabric that does not leave its node, as that of an HGX board.
_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"


def uuid_text(raw: bytes) -> str:
    """The usual spelling of 16 bytes."""
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def record_fabric(
    collected: Collected, registration: Registration, clique: str, cluster_uuid: str
) -> None:
    """Clique and cluster of a GPU that has registered; before that they say nothing."""
    if not registration.registered:
        clique = cluster_uuid = ""
    if cluster_uuid == _NO_CLUSTER:
        cluster_uuid = ""
    _record(collected, "fabric_clique_info", clique)
    _record(collected, "fabric_cluster_info", cluster_uuid)


def record_platform(
    collected: Collected, chassis_serial: str, slot: str, tray: str, host: str
) -> None:
    """Position in a rack; without a chassis there is none, and the numbers are 0 or made up."""
    position = (chassis_serial, slot, tray, host)
    _record(collected, "platform_info", *(position if all(position) else ("",)))


def record_module(collected: Collected, module: str) -> None:
    """Number of the module on its baseboard."""
    _record(collected, "platform_module_info", module)


def _record(collected: Collected, key: str, *labels: str) -> None:
    if all(labels):
        collected.put(key, 1, *labels)
    else:
        collected.miss(key, Absence.UNSUPPORTED)
