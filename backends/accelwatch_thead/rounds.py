"""One round of runs of ppu-smi: the numbers, the table with processes and instances, the links."""

from collections.abc import Callable, Mapping

import msgspec

from accelwatch.backend.kit.smi.listing import Gpu, Listing
from accelwatch.backend.kit.smi.queries import Queries
from accelwatch.base.errors import ReadError
from accelwatch_thead.icn import NO_LINKS, Icn, Links
from accelwatch_thead.instances import Instance, InstanceKey, parse_instances, parse_uuids
from accelwatch_thead.vendor import VENDOR


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """All that one round read."""

    listing: Listing
    instances: tuple[Instance, ...] = ()
    # Of the instances.
    uuids: Mapping[InstanceKey, str] = {}
    links: Links = NO_LINKS

    def instances_of(self, ppu: Gpu) -> list[Instance]:
        """Those of one PPU."""
        return [instance for instance in self.instances if instance.key[0] == ppu.number]


class Rounds:
    """Runs a command. One thread at a time."""

    def __init__(self, run: Callable[..., bytes]) -> None:
        """`run` is given arguments and may raise ReadError."""
        self._run = run
        self._queries = Queries(run, VENDOR.queries, self._table)
        self._icn = Icn(run)
        self._instances: tuple[Instance, ...] = ()
        self._uuids: Mapping[InstanceKey, str] = {}
        # The instances for which uuids were queried.
        self._listed: frozenset[InstanceKey] = frozenset()

    def query(self) -> ToolOutput:
        """What all runs say. Raises ReadError when there are neither numbers nor a table."""
        self._instances = ()
        listing = self._queries.query()
        return ToolOutput(
            listing=listing,
            instances=self._instances,
            uuids=self._cached_uuids(),
            links=self._icn.refresh(),
        )

    def _table(self, output: bytes) -> Listing:
        self._instances = parse_instances(output)
        return VENDOR.table.parse(output)

    def _cached_uuids(self) -> Mapping[InstanceKey, str]:
        """Queried again only when other instances are there; empty where the command has none."""
        positions = frozenset(instance.key for instance in self._instances)
        if positions != self._listed:
            self._listed = positions
            try:
                self._uuids = parse_uuids(self._run("-L")) if positions else {}
            except ReadError:
                self._uuids = {}
        return self._uuids
