"""What stands around the numbers of a page, as one hash: equal pages are read without their lines.

A page is cut behind the labels of each line, which the engine of `re` finds by their last byte; numbers
without labels, of which a page has few, stand in the pieces between and are cut out of those alone. A
page stays bytes, for only its numbers are read.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence

_cut = re.compile(rb"\} ([^ \n]*)\n").split


class Form:
    """The form of one page, and where the numbers of its samples are."""

    __slots__ = ("_bare", "_hash", "_picked")

    def __init__(self, page: bytes, sampled: Sequence[int]) -> None:
        """`sampled` are the lines of the samples, in the order in which their numbers are wanted.

        In each the number is what stands behind the last blank.
        """
        pieces = _cut(page)
        # The lines of the words behind labels.
        behind: list[int] = []
        line = 0
        for gap in pieces[:-1:2]:
            line += gap.count(b"\n")
            behind.append(line)
            line += 1
        bare: dict[int, list[int]] = {}
        for line in sorted(set(sampled).difference(behind)):
            at = bisect_left(behind, line)
            bare.setdefault(at, []).append(line - (behind[at - 1] + 1 if at else 0))
        # Pieces with samples that have no labels, and which of their lines these are.
        self._bare = tuple([(at, tuple(lines)) for at, lines in bare.items()])
        lines = sorted({*sampled, *behind})
        # Where each number is among the words; None when they are all the words in their order.
        self._picked: array[int] | None = None
        if lines != list(sampled):
            self._picked = array("L", [bisect_left(lines, line) for line in sampled])
        self._hash = hash(tuple(self._apart(pieces)[0]))

    def like(self, page: bytes) -> "Form":
        """The form of a page whose lines are of the same series, in the same order."""
        form = object.__new__(Form)
        form._bare, form._picked = self._bare, self._picked
        form._hash = hash(tuple(form._apart(_cut(page))[0]))
        return form

    def tokens(self, page: bytes) -> list[bytes] | None:
        """The numbers of the samples of a page, None when it has another form."""
        gaps, tokens = self._apart(_cut(page))
        if hash(tuple(gaps)) != self._hash:
            return None
        return tokens if self._picked is None else [tokens[at] for at in self._picked]

    def _apart(self, pieces: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        """What stands around the words, and the words in the order of their lines."""
        gaps, behind = pieces[::2], pieces[1::2]
        tokens: list[bytes] = []
        done = 0
        for at, lines in self._bare:
            rows = gaps[at].split(b"\n") if at < len(gaps) else []
            if lines[-1] >= len(rows):
                return [], []  # the hash of no page: each has a piece
            tokens += behind[done:at]
            done = at
            for line in lines:
                rows[line], _, token = rows[line].rpartition(b" ")
                tokens.append(token)
            gaps[at] = b"\n".join(rows)
        return gaps, tokens + behind[done:] if tokens else behind
