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
from accelwatch.fleet.rules.columns.columns import Columns, Texts
from accelwatch.fleet.rules.vectors.truths import Truths

_OF_TEXT = (Comparison, Constant, Invoke, Items, Logic, Not)


def of_text(node: Node) -> bool:
    """Whether a condition depends on nothing but text."""
    return node.type is Type.BOOL and all(
        child.type is Type.STRING if isinstance(child, Reading) else isinstance(child, _OF_TEXT)
        for child in walk(node)
    )


class Static:
    """One such condition over all rows."""

    def __init__(self, node: Node) -> None:
        self._run: Callable[[Callable[[Key], Value | Missing]], Raw] = generate(node)
        readings = [child for child in walk(node) if isinstance(child, Reading)]
        keys = dict.fromkeys(key for reading in readings for key in reading.keys)
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
        combined = np.zeros(size, dtype=np.intp)
        for column in texts:
            combined = combined * (len(column.values) + 1) + column.codes + 1
        different, where = np.unique(combined, return_inverse=True)
        outcomes = [self._run(self._lookup(texts, int(code))) for code in different.tolist()]
        true = np.array([outcome is True for outcome in outcomes], dtype=np.bool_)
        false = np.array([outcome is False for outcome in outcomes], dtype=np.bool_)
        return Truths(true[where], false[where])

    def _lookup(self, texts: Sequence[Texts], combined: int) -> Callable[[Key], Value | Missing]:
        """The words at an index."""
        values: dict[Key, str] = {}
        for key, column in zip(reversed(self._keys), reversed(texts), strict=True):
            combined, code = divmod(combined, len(column.values) + 1)
            if code:
                values[key] = column.values[code - 1]
        return lambda key: values.get(key, MISSING)
