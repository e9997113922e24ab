"""What is only known of a card with several devices: one has the number, so that sums count it once.

The others say that their own is `unsupported`; a note on each says whose the number is.
"""

from collections.abc import Iterable

from accelwatch.schema.metrics import Series
from accelwatch.schema.series import path_of

BOARD_POWER: Series = ("power_component_watts", "board")


def holder_note(series: Series, names: Iterable[str]) -> str:
    """Of the device that has the number; `names` of all devices of the card."""
    return f"{path_of(series)} is that of the whole card: {', '.join(names)}"


def shared_note(series: Series, holder: str) -> str:
    """Of the other devices of the card; `holder` is the name of the one that has it."""
    return f"{path_of(series)} is only known of the whole card, and counted on {holder}"
