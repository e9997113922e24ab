"""A backend whose command is a relative of nvidia-smi: all of it is a vendor's table (`vendor.py`)."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec

from accelwatch.backend import Request
from accelwatch.backend.kit.smi.listing import Gpu, Listing
from accelwatch.backend.kit.smi.processes import processes_of
from accelwatch.backend.kit.smi.queries import Queries
from accelwatch.backend.kit.smi.vendor import SmiVendor
from accelwatch.backend.kit.tool_backend import ToolBackend
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process, Reading


class SmiBackend(ToolBackend[Listing, Gpu]):
    """A subclass names the vendor's table, and says what every backend says of itself."""

    smi: ClassVar[SmiVendor]

    def make_query(self) -> Callable[[], Listing]:
        """Its fullest query, and its table."""
        return Queries(self.run, self.smi.queries, self.smi.table.parse).query

    def listed(self, answer: Listing) -> Sequence[Gpu]:
        """The GPUs in an answer."""
        return answer.gpus

    def reported_version(self, answer: Listing) -> str | None:
        """Of the driver."""
        return answer.driver_version

    def identify(self, device: Device) -> Sequence[Device]:
        """The GPU by its uuid; it has no partitions. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        complete = self.smi.identified(device, gpu, self.driver_version(answer.document))
        name = self.smi.node(gpu)
        node = None if name is None else self.node(name)
        return [msgspec.structs.replace(complete, device_nodes=() if node is None else (node,))]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest listing says. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        jobs = answer.document.jobs

        def processes() -> Sequence[Process]:
            mine = [job for job in jobs or () if job.number == gpu.number]
            return processes_of(device.id, mine, self.smi.process_memory)

        process_list = Absence.ERROR if jobs is None else processes
        return self.readings(request, answer, self.smi.reading(device, gpu), process_list)
