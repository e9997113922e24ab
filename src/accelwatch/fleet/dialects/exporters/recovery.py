"""The recovery action that NVIDIA's driver requests, as its exporters export it: NVML's number."""

from accelwatch.fleet.dialects.base.table import FamilyMapping
from accelwatch.schema.recovery_action import ACTIONS, concerns_device

# The action of a newer driver keeps its number and is a wish all the same; no number is greater.
_ANY_ACTION = 255
_STATES: dict[float, str | None] = {float(number): name for number, name in ACTIONS.items()}

_OF_OTHERS = tuple(number for number, name in _STATES.items() if name and not concerns_device(name))


def rows(name: str) -> tuple[FamilyMapping, FamilyMapping]:
    """The action by its name, and whether there is one that is about the GPU or its node."""
    return (
        FamilyMapping(
            name=name, target="recovery_action_info", states=_STATES, low=0, high=_ANY_ACTION
        ),
        FamilyMapping(
            name=name,
            target="reset_required",
            low=0,
            high=_ANY_ACTION,
            flag=True,
            unset=_OF_OTHERS,
        ),
    )
