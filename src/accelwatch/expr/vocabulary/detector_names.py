"""The names of what a detector has found: `detector.alert`, `detector.node.family`.

Those without a subject are of the narrowest finding that concerns a device: of itself, of its node,
of its job, of a group of nodes. Where nothing was found flags are not set and the rest is missing; where
no detector runs all of them are missing.
"""

from collections.abc import Mapping
from typing import NamedTuple

from accelwatch.expr.vocabulary.names import Type

DETECTOR = "detector"
# From narrow to wide.
SUBJECTS = ("device", "node", "job", "group")
_FIELDS: Mapping[str, Type] = {
    # Whether there is evidence on which a rule may act, or only something to inspect.
    "alert": Type.FLAG,
    "watch": Type.FLAG,
    # Of the signal that says most, such as `nvlink`.
    "family": Type.STRING,
    # `none`, `restart`, `reset`, `reboot`, `replace`, `exclude`, `wait`.
    "advice": Type.STRING,
    # A sentence for people.
    "sentence": Type.STRING,
    # Whom the finding is about.
    "subject": Type.STRING,
    # Unix seconds at which it began, as far as that can be dated.
    "onset": Type.NUMBER,
    # Standard deviations, or what weighs as much.
    "score": Type.NUMBER,
}


class DetectorField(NamedTuple):
    """A name in its parts."""

    # Of `SUBJECTS`; empty for the narrowest.
    subject: str
    field: str
    type: Type


def _fields() -> dict[str, DetectorField]:
    names = {
        f"{DETECTOR}.{field}": DetectorField("", field, kind) for field, kind in _FIELDS.items()
    }
    for subject in SUBJECTS:
        for field, kind in _FIELDS.items():
            if field != "subject":
                names[f"{DETECTOR}.{subject}.{field}"] = DetectorField(subject, field, kind)
    return names


# By name.
DETECTOR_FIELDS: Mapping[str, DetectorField] = _fields()
