"""What backends share whose command is a relative of nvidia-smi: a full query, and a table besides."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from accelwatch.backend import Request
from accelwatch.backend_kit.quantity_text import Units
from accelwatch.backend_kit.smi.listing import Gpu, Listing
from accelwatch.backend_kit.smi.processes import processes_of
from accelwatch.backend_kit.smi.queries import Queries, Query
from accelwatch.backend_kit.tool_backend import ToolBackend
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process, Reading


class SmiBackend(ToolBackend[Listing, Gpu]):
    """A backend without what is the vendor's own: `identify`, and what raises here."""

    queries: ClassVar[tuple[Query, ...]]
    """The fullest first."""
    table: ClassVar[Query]
    """Without arguments."""
    memory_units: ClassVar[Units]
    """Of the memory that a process has."""

    def numbers(self, device: Device, gpu: Gpu) -> Reading:
        """What a listing says of a GPU, without its processes."""
        raise NotImplementedError

    def make_query(self) -> Callable[[], Listing]:
        """Its fullest query, and its table."""
        return Queries(self.run, self.queries, self.table.parse).query

    def listed(self, answer: Listing) -> Sequence[Gpu]:
        """The GPUs in an answer."""
        return answer.gpus

    def reported_version(self, answer: Listing) -> str | None:
        """Of the driver."""
        return answer.driver_version

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest listing says. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        jobs = answer.document.jobs

        def processes() -> Sequence[Process]:
            mine = [job for job in jobs or () if job.number == gpu.number]
            return processes_of(device.id, mine, self.memory_units)

        process_list = Absence.ERROR if jobs is None else processes
        return self.readings(request, answer, self.numbers(device, gpu), process_list)
