"""Known devices on disk, so that a device that is lost is the same one after a restart."""

from pathlib import Path

import msgspec

from accelwatch.node.store.persistence.identities import CachedIdentity
from accelwatch.node.store.persistence.state_file import StateFile

_FILE = "known_devices.json"
_FORMAT = 1


class _IdentitiesFile(msgspec.Struct, frozen=True):
    format: int
    devices: tuple[CachedIdentity, ...]


class IdentityFile:
    """Loads known devices once, then writes the newest ones on a thread of its own."""

    def __init__(self, state_dir: Path) -> None:
        self._file = StateFile(
            state_dir / _FILE,
            _IdentitiesFile,
            _FORMAT,
            "devices that were lost before are not known",
        )

    def load(self) -> tuple[CachedIdentity, ...]:
        """Those stored; empty when there are none. A damaged file is set aside."""
        document = self._file.load()
        return (
            ()
            if document is None
            else tuple(identity for identity in document.devices if identity.devices)
        )

    def offer(self, identities: tuple[CachedIdentity, ...]) -> None:
        """Have these written soon; newer ones replace older ones that still wait."""
        self._file.offer(_IdentitiesFile(_FORMAT, identities))

    def close(self) -> None:
        """Wait a moment for what was offered to be written."""
        self._file.close()
