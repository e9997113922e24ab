"""Where a GPU stands: its clique and cluster of the NVLink fabric, its rack and its baseboard. Pure."""

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_nvidia.fabric import Registration

_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
"""On a fabric that does not leave its node, as that of an HGX board."""


def uuid_text(raw: bytes) -> str:
    """The usual spelling of 16 bytes."""
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def put_fabric(
    collected: Collected, registration: Registration, clique: str, cluster_uuid: str
) -> None:
    """Clique and cluster of a GPU that has registered; before that they say nothing."""
    if not registration.registered:
        clique = cluster_uuid = ""
    if cluster_uuid == _NO_CLUSTER:
        cluster_uuid = ""
    _put(collected, "fabric_clique_info", clique)
    _put(collected, "fabric_cluster_info", cluster_uuid)


def put_platform(
    collected: Collected, chassis_serial: str, slot: str, tray: str, host: str
) -> None:
    """Place in a rack; without a chassis there is none, and the numbers are 0 or made up."""
    place = (chassis_serial, slot, tray, host)
    _put(collected, "platform_info", *(place if all(place) else ("",)))


def put_module(collected: Collected, module: str) -> None:
    """Number of the module on its baseboard."""
    _put(collected, "platform_module_info", module)


def _put(collected: Collected, key: str, *labels: str) -> None:
    if all(labels):
        collected.put(key, 1, *labels)
    else:
        collected.miss(key, Absence.UNSUPPORTED)
