"""Which nodes have a device of which uuid: one that two nodes have is a conflict, and told."""

import logging
from collections.abc import Mapping

from accelwatch.schema.device import Device

logger = logging.getLogger(__name__)

Uuids = set[str]
_MADE_OF_PLACES = frozenset({"intel"})
"""Vendors whose driver makes a uuid of device id and PCI address: equal nodes have equal ones (Level
Zero's `zes_uuid_t` as the Intel driver fills it, printed by xpu-smi and XPUM alike)."""


def claimed(device: Device) -> str | None:
    """The uuid that no other node can have; None where there is none."""
    return None if device.vendor in _MADE_OF_PLACES else device.uuid


class Claims:
    """Uuids with the nodes on which they are present; the loop's thread only."""

    def __init__(self) -> None:
        self._nodes: dict[str, set[str]] = {}
        self._contested: dict[str, set[str]] = {}

    def change(self, node: str, before: Uuids, now: Uuids) -> None:
        """A node has these uuids instead of those before."""
        for uuid in before - now:
            self._give_up(node, uuid)
        for uuid in now - before:
            self._claim(node, uuid)

    def _give_up(self, node: str, uuid: str) -> None:
        claiming = self._nodes[uuid]
        claiming.discard(node)
        if len(claiming) < 2:
            self._contested.pop(uuid, None)
        if not claiming:
            del self._nodes[uuid]

    def _claim(self, node: str, uuid: str) -> None:
        claiming = self._nodes.setdefault(uuid, set())
        if claiming:
            others = ",".join(sorted(claiming))
            logger.warning("a uuid on two nodes uuid=%s node=%s other=%s", uuid, node, others)
            self._contested[uuid] = claiming
        claiming.add(node)

    @property
    def conflicts(self) -> Mapping[str, set[str]]:
        """Uuids that more than one node has, with the nodes."""
        return self._contested
