"""Ticks and slots of devices as the bytes that streams send; encoded once for all viewers."""

from collections.abc import Sequence

from accelwatch.fleet.wire import DeviceSlot, FleetTick
from accelwatch.web.http.stream import framed

# Devices after which the loop may do something else.
_DEVICES_AT_ONCE = 500


class TickFrames:
    """The newest tick, and who stands in which slot since when."""

    def __init__(self) -> None:
        # Of the newest tick; 0 before the first.
        self.sequence = 0
        self.tick: FleetTick | None = None
        # Slot to the sequence at which it was last changed, and its device.
        self.devices: dict[int, tuple[int, DeviceSlot]] = {}
        # Frames of the present tick by media type, and changes by media type and last sequence:
        # encoded once for all viewers, void with the next tick.
        self._frames: dict[str, bytes] = {}
        self._changes: dict[tuple[str, int], list[bytes]] = {}
        # Sequence at which a slot was last changed.
        self._changed_sequence = 0

    def assign(self, device: DeviceSlot) -> None:
        """Who stands in a slot from the next tick on."""
        before = self.devices.get(device.slot)
        if before is None or before[1] != device:
            self.devices[device.slot] = self.sequence + 1, device
            self._changed_sequence = self.sequence + 1

    def publish(self, tick: FleetTick) -> None:
        """The next tick."""
        self.tick = tick
        self.sequence = tick.sequence
        self._frames, self._changes = {}, {}

    def changes(self, media: str, after: int) -> Sequence[bytes]:
        """Slots that changed after a tick as bytes, made once for all who saw that tick last."""
        if after >= self._changed_sequence:
            return ()
        if (media, after) not in self._changes:
            changed = [message for sequence, message in self.devices.values() if sequence > after]
            self._changes[media, after] = [
                b"".join(
                    [framed(message, media) for message in changed[at : at + _DEVICES_AT_ONCE]]
                )
                for at in range(0, len(changed), _DEVICES_AT_ONCE)
            ]
        return self._changes[media, after]

    def frame(self, media: str) -> bytes:
        """The tick as bytes, made once for all clients."""
        if media not in self._frames and self.tick is not None:
            self._frames[media] = framed(self.tick, media)
        return self._frames.get(media, b"")
