"""Which nodes have a device of which uuid: a uuid on two nodes is a conflict, and reported."""

import logging
from collections.abc import Mapping

from accelwatch.schema.device import Device

logger = logging.getLogger(__name__)

Uuids = set[str]
# Vendors whose driver makes a uuid of device id and PCI address: equal nodes have equal ones (Level
# Zero's `zes_uuid_t` as the Intel driver fills it, printed by xpu-smi and XPUM alike).
_UUID_FROM_ADDRESS = frozenset({"intel"})


def claimed(device: Device) -> str | None:
    """The uuid that no other node can have; None where there is none."""
    return None if device.vendor in _UUID_FROM_ADDRESS else device.uuid


class Claims:
    """Uuids with the nodes on which they are present; the loop's thread only."""

    def __init__(self) -> None:
        # Who has a uuid alone; of one that several have, any node.
        self._node: dict[str, str] = {}
        self._contested: dict[str, set[str]] = {}

    def change(self, node: str, before: Uuids, now: Uuids) -> None:
        """A node has these uuids instead of those before."""
        for uuid in before - now:
            self._give_up(node, uuid)
        for uuid in now - before:
            self._claim(node, uuid)

    def _give_up(self, node: str, uuid: str) -> None:
        claiming = self._contested.get(uuid)
        if claiming is None:
            del self._node[uuid]
            return
        claiming.discard(node)
        if len(claiming) < 2:
            (self._node[uuid],) = self._contested.pop(uuid)

    def _claim(self, node: str, uuid: str) -> None:
        claiming = self._contested.get(uuid)
        if claiming is None:
            first = self._node.setdefault(uuid, node)
            if first == node:
                return
            claiming = self._contested[uuid] = {first}
        others = ",".join(sorted(claiming))
        logger.warning("a uuid on two nodes uuid=%s node=%s other=%s", uuid, node, others)
        claiming.add(node)

    @property
    def conflicts(self) -> Mapping[str, set[str]]:
        """Uuids that more than one node has, with the nodes."""
        return self._contested
