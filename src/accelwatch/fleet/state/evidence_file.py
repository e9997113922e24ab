"""The file in which standing evidence outlives the hub; one that cannot be read is left as it is."""

import logging
from collections.abc import Iterable
from pathlib import Path

import msgspec

from accelwatch.files.atomic_file import read_replaced, replace_file
from accelwatch.fleet.state.evidence import ReceivedAlert
from accelwatch.schema.renamed import current_id

logger = logging.getLogger(__name__)

FILE = "evidence.json"
_VERSION = 1


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    standing: tuple[ReceivedAlert, ...] = ()


class EvidenceFile:
    """Evidence in a folder; without one it is kept in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self.problem = ""
        """Why nothing is kept; empty when all is well."""

    def read(self) -> tuple[ReceivedAlert, ...]:
        """What stood when it was written last."""
        if self._path is None:
            return ()
        try:
            document = msgspec.json.decode(read_replaced(self._path), type=_Document)
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.MsgspecError) as error:
            return self._refused(f"evidence that stood is not known: {error}")
        if document.version != _VERSION:
            return self._refused(f"written by version {document.version} of the file")
        return tuple([_with_current_vendor(alert) for alert in document.standing])

    def _refused(self, why: str) -> tuple[ReceivedAlert, ...]:
        self.problem = (
            f"{self._path}: {why}; nothing is written there until it is put back from a backup or "
            "moved away and the hub restarted"
        )
        logger.error("%s", self.problem)
        return ()

    def write(self, alerts: Iterable[ReceivedAlert]) -> str:
        """Write all of it, on any thread; what went wrong, or empty."""
        if self._path is None or self.problem:
            return self.problem
        document = _Document(version=_VERSION, standing=tuple(alerts))
        try:
            replace_file(self._path, msgspec.json.encode(document))
        except OSError as error:
            return f"{self._path}: {error.strerror}"
        return ""


def _with_current_vendor(alert: ReceivedAlert) -> ReceivedAlert:
    """The evidence about its device as it is called now, also where its key names the device."""
    device_id = alert.event.device_id
    current = current_id(device_id)
    if current == device_id:
        return alert
    fields = [current if field == device_id else field for field in alert.key.split("\x1f")]
    event = msgspec.structs.replace(alert.event, device_id=current)
    return msgspec.structs.replace(alert, key="\x1f".join(fields), event=event)
