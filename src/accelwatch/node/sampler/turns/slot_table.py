"""The slots of one backend: which devices it has now, and a worker for each."""

from accelwatch.backend import Backend
from accelwatch.node.sampler.turns.calls import CollectorContext
from accelwatch.node.sampler.turns.turn import Slot, SlotContext
from accelwatch.node.sampler.turns.worker import Worker
from accelwatch.node.store.reports import Slots
from accelwatch.schema.device import Device


class SlotTable:
    """Slots by provisional id. A slot whose call is still out outlives its device."""

    def __init__(
        self, name: str, backend: Backend, shared: Worker | None, collector: CollectorContext
    ) -> None:
        self.slots: dict[str, Slot] = {}
        self._retired: dict[str, Slot] = {}
        self._name = name
        self._shared = shared
        self._around = SlotContext(backend, name, collector)

    def accept(self, devices: tuple[Device, ...]) -> list[Slot]:
        """Accept the devices as discovered, to be identified again; returns the removed slots."""
        around = self._around
        around.collector.emit(Slots(backend=self._name, devices=devices))
        before = self.slots
        self.slots = {device.id: self._slot(device) for device in devices}
        removed = [slot for slot_id, slot in before.items() if slot_id not in self.slots]
        for slot in removed:
            self._retire(slot)
        self._dismiss()
        return removed

    def clear(self) -> None:
        """Retire every slot, for good."""
        for slot in self.slots.values():
            slot.retire()
        self.stop()
        self.slots = {}

    def stop(self) -> None:
        """Let every worker end when it is free; what was to be called is called before."""
        self._around.collector.calls.hurry()
        for slot in (*self.slots.values(), *self._retired.values()):
            if slot.worker is not self._shared:
                slot.worker.stop()

    def _slot(self, device: Device) -> Slot:
        slot = self.slots.get(device.id) or self._retired.pop(device.id, None)
        if slot is None:
            worker = self._shared or self._around.collector.worker(f"{self._name}:{device.id}")
            return Slot(device, worker, self._around)
        slot.device = device
        slot.retired = False
        slot.identify_due = True
        return slot

    def _retire(self, slot: Slot) -> None:
        slot.retire()
        self._retired[slot.device.id] = slot

    def _dismiss(self) -> None:
        """Let go of retired slots whose worker is free."""
        for slot in [slot for slot in self._retired.values() if not slot.busy]:
            del self._retired[slot.device.id]
            if slot.worker is not self._shared:
                slot.worker.stop()
