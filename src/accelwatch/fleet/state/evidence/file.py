"""The file in which standing evidence outlives the hub; one that cannot be read is left as it is."""

import functools
from collections.abc import Iterable
from pathlib import Path

import msgspec

from accelwatch.fleet.state.evidence.board import ReceivedAlert
from accelwatch.schema.renamed import current_id
from accelwatch.system.files.kept_file import KeptFile, decode_version

FILE = "evidence.json"
_VERSION = 1


class _EvidenceFile(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    standing: tuple[ReceivedAlert, ...] = ()


class EvidenceFile:
    """Evidence in a folder; without one it is kept in memory only."""

    def __init__(self, folder: Path | None) -> None:
        decode = functools.partial(
            decode_version, kind=_EvidenceFile, version=_VERSION, key="version"
        )
        loss = "ongoing evidence is unknown"
        self._file: KeptFile[_EvidenceFile] | None = (
            None if folder is None else KeptFile(folder / FILE, decode, loss, leave_damaged=True)
        )

    @property
    def problem(self) -> str:
        """Why nothing is kept; empty when all is well."""
        return "" if self._file is None else self._file.problem

    def read(self) -> tuple[ReceivedAlert, ...]:
        """What stood when it was written last."""
        document = None if self._file is None else self._file.load()
        if document is None:
            return ()
        return tuple([_with_current_vendor(alert) for alert in document.standing])

    def write(self, alerts: Iterable[ReceivedAlert]) -> str:
        """Write all of it, on any thread; what went wrong, or empty."""
        if self._file is None:
            return ""
        document = _EvidenceFile(version=_VERSION, standing=tuple(alerts))
        return self._file.save(msgspec.json.encode(document))


def _with_current_vendor(alert: ReceivedAlert) -> ReceivedAlert:
    """The evidence about its device as it is called now, also where its key names the device."""
    device_id = alert.event.device_id
    current = current_id(device_id)
    if current == device_id:
        return alert
    fields = [current if field == device_id else field for field in alert.key.split("\x1f")]
    event = msgspec.structs.replace(alert.event, device_id=current)
    return msgspec.structs.replace(alert, key="\x1f".join(fields), event=event)
