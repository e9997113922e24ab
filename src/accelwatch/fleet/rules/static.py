"""Conditions on text alone: worked out once for each different word, until somebody's text changes."""

from collections.abc import Callable, Sequence

import numpy as np

from accelwatch.expr.checking.tree import (
    Comparison,
    Constant,
    Invoke,
    Items,
    Logic,
    Node,
    Not,
    Reading,
    walk,
)
from accelwatch.expr.codegen import generate
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Missing, Raw, Value
from accelwatch.expr.vocabulary.names import Type
from accelwatch.fleet.rules.columns import Columns, Texts
from accelwatch.fleet.rules.truths import Truths

_OF_TEXT = (Comparison, Constant, Invoke, Items, Logic, Not)


def of_text(node: Node) -> bool:
    """Whether a condition depends on nothing but text."""
    return node.type is Type.BOOL and all(
        one.type is Type.STRING if isinstance(one, Reading) else isinstance(one, _OF_TEXT)
        for one in walk(node)
    )


class Static:
    """One such condition over all rows."""

    def __init__(self, node: Node) -> None:
        self._run: Callable[[Callable[[Key], Value | Missing]], Raw] = generate(node)
        readings = [one for one in walk(node) if isinstance(one, Reading)]
        keys = dict.fromkeys(key for one in readings for key in one.keys)
        self._keys = [key for key in keys if isinstance(key, str)]
        self._texts: tuple[Texts, ...] | None = None
        self._truths = Truths(np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_))

    def __call__(self, columns: Columns) -> Truths:
        """True and false by row."""
        texts = tuple(columns.text(key) for key in self._keys)
        before = self._texts
        if before is None or any(a is not b for a, b in zip(texts, before, strict=True)):
            self._truths = self._worked_out(texts, columns.size)
            self._texts = texts
        return self._truths

    def _worked_out(self, texts: Sequence[Texts], size: int) -> Truths:
        places = np.zeros(size, dtype=np.intp)
        for one in texts:
            places = places * (len(one.words) + 1) + one.codes + 1
        different, where = np.unique(places, return_inverse=True)
        found = [self._run(self._lookup(texts, int(one))) for one in different.tolist()]
        true = np.array([one is True for one in found], dtype=np.bool_)
        false = np.array([one is False for one in found], dtype=np.bool_)
        return Truths(true[where], false[where])

    def _lookup(self, texts: Sequence[Texts], place: int) -> Callable[[Key], Value | Missing]:
        """The words that stand at a place."""
        told: dict[Key, str] = {}
        for key, one in zip(reversed(self._keys), reversed(texts), strict=True):
            place, code = divmod(place, len(one.words) + 1)
            if code:
                told[key] = one.words[code - 1]
        return lambda key: told.get(key, MISSING)
