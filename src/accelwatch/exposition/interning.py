"""Equal texts held once. `sys.intern` would do, but Python 3.12 keeps what it interned for ever.

Labels name processes, jobs and pods, which come and go for as long as a hub runs.
"""

MOST = 200_000


class Texts:
    """Hands out the first of equal texts; forgets all of them when there are too many."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held: dict[str, str] = {}

    def same(self, text: str) -> str:
        """The text, or an equal one that was here before; from any thread."""
        held = self._held
        if len(held) >= self._most:
            held = self._held = {}
        return held.setdefault(text, text)

    def __len__(self) -> int:
        return len(self._held)


same = Texts().same
"""For all expositions and stores of the process."""
