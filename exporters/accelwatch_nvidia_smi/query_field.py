"""What a field of nvidia-smi's query dialect is."""

from collections.abc import Callable

import msgspec

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

MIB = 1 << 20
NOT_AVAILABLE = "[N/A]"

Write = Callable[[Number], str]


class QueryField(msgspec.Struct, frozen=True):
    """One field: names (the first is the one that is printed), unit, and where the answer is.

    `identity` is a field of Device; `special` is a name in `answers`, and `series` beside it is what it
    is made of. With none of them, nvidia-smi has the field and we do not read it: `[N/A]`.
    """

    names: tuple[str, ...]
    unit: str = ""
    identity: str = ""
    series: Series = ()
    write: Write = str
    special: str = ""
    # Catalogue keys that `special` reads and that may be opt-in.
    needs: tuple[str, ...] = ()
    # What stands for no value: a few fields have no brackets.
    missing: str = NOT_AVAILABLE

    @property
    def read(self) -> bool:
        """Whether there ever is an answer."""
        return bool(self.identity or self.series or self.special)
