"""Equal texts held once. `sys.intern` would do, but Python 3.12 keeps what it interned for ever.

Labels name processes, jobs and pods, which come and go for as long as a hub runs.
"""

MOST = 200_000


class Texts:
    """Hands out the first of equal texts; forgets all of them when there are too many."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._texts: dict[str, str] = {}

    def same(self, text: str) -> str:
        """The text, or an equal one that was here before; from any thread."""
        texts = self._texts
        if len(texts) >= self._most:
            texts = self._texts = {}
        return texts.setdefault(text, text)

    def __len__(self) -> int:
        return len(self._texts)


# For all expositions and stores of the process.
same = Texts().same
