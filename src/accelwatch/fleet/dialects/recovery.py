"""The recovery action that NVIDIA's driver asks for, as its exporters tell it: NVML's number."""

from accelwatch.fleet.dialects.table import Row
from accelwatch.recovery_action import ACTIONS

_ANY_ACTION = 255
"""The action of a newer driver keeps its number and is a wish all the same; no number is greater."""
_STATES: dict[float, str | None] = {float(number): name for number, name in ACTIONS.items()}


def rows(name: str) -> tuple[Row, Row]:
    """The action by its name, and whether there is one."""
    return (
        Row(name=name, target="recovery_action_info", states=_STATES, low=0, high=_ANY_ACTION),
        Row(name=name, target="reset_required", low=0, high=_ANY_ACTION, flag=True),
    )
