"""The expression language: one condition or value over the current readings of one device.

The language is described in docs/expressions.md. Nothing of Python is reachable from it: text is
scanned, parsed, checked against a table of names and only then turned into a function.
"""

from accelwatch.expr.compiled import Expression, compile_condition, compile_expression
from accelwatch.expr.vocabulary.kleene import (
    MISSING,
    UNKNOWN,
    Key,
    Lookup,
    Missing,
    Truth,
    Unknown,
    Value,
)
from accelwatch.expr.vocabulary.names import NameTable, Type, device_names

__all__ = [
    "MISSING",
    "UNKNOWN",
    "Expression",
    "Key",
    "Lookup",
    "Missing",
    "NameTable",
    "Truth",
    "Type",
    "Unknown",
    "Value",
    "compile_condition",
    "compile_expression",
    "device_names",
]
