"""`/v1/detector` as the API answers it."""

import msgspec

from accelwatch.detection.status.documents import RowStatus

DETECTOR = "/v1/detector"


class FindingNote(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that goes on and concerns the node."""

    # `alert` or `watch`.
    level: str
    # `device`, `node`, `job` or `group`.
    scope: str
    # Id of the device that is to blame; empty where it is none.
    device: str
    job: str
    family: str
    channels: tuple[str, ...]
    advice: str
    score: float
    # RFC 3339: when it began as far as can be dated, and when it was found.
    onset: str
    opened: str
    sentence: str


class DetectorPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the detector holds of a node, or of one device of it, at its newest frame."""

    # As requested: `n12`, `n12/nvidia3`.
    entity: str
    # RFC 3339, of the frame.
    time: str
    # Seconds between two frames.
    interval_s: float
    findings: tuple[FindingNote, ...]
    # The node, its jobs, its devices; of a device only the device.
    rows: tuple[RowStatus, ...]
