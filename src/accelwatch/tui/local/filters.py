"""Filters by expression or by plain text, for devices and for processes.

Text without an operator is looked for in the names; anything else is an expression of
docs/expressions.md. A process has the names of its device, and its own.
"""

import re
from collections.abc import Callable

from accelwatch.base.errors import ExpressionError
from accelwatch.expr import (
    NameTable,
    compile_condition,
    device_names,
)
from accelwatch.expr.as_read import SPOKEN
from accelwatch.node.query.lookup import lookup, process_lookup, process_names
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing.device_signs import device_class
from accelwatch.tui.local.processes.process_row import ProcessRow, command, workload

_OPERATOR = re.compile(r"[=<>()!]|\b(and|or|not|in)\b")


def is_expression(text: str, names: NameTable) -> bool:
    """Whether a text is meant as a condition rather than as words to look for."""
    first = re.split(r"[.\[]", text, maxsplit=1)[0]
    return bool(_OPERATOR.search(text)) or first in names.rows


def completions_of(names: NameTable) -> list[str]:
    """What can be written in a condition, words of the screen first."""
    return [*SPOKEN, *names.bare_names, "present", "missing", "matches"]


def device_filter(text: str, host: str) -> Callable[[DeviceView], bool] | None:
    """What keeps a device; None for an empty text. Raises ExpressionError."""
    text = text.strip()
    if not text:
        return None
    if is_expression(text, device_names()):
        condition = compile_condition(text, device_names())
        return lambda view: condition.evaluate(lookup(view, host)) is True
    needle = text.lower()
    return lambda view: any(needle in candidate.lower() for candidate in _device_texts(view))


def _device_texts(view: DeviceView) -> tuple[str, ...]:
    device = view.device
    texts = (device.name, device.id, device.model, device.pci_bus_id, device.partition)
    return (*(text for text in texts if text), view.state.value, device_class(view))


def process_filter(text: str, host: str) -> Callable[[ProcessRow], bool] | None:
    """What keeps a process; None for an empty text. Raises ExpressionError."""
    text = text.strip()
    if not text:
        return None
    if is_expression(text, process_names()):
        condition = compile_condition(text, process_names())
        return lambda row: condition.evaluate(process_lookup(row.process, row.view, host)) is True
    needle = text.lower()
    return lambda row: any(needle in candidate.lower() for candidate in _process_texts(row))


def _process_texts(row: ProcessRow) -> tuple[str, ...]:
    process = row.process
    if process is None:
        return ()
    texts = (str(process.pid), process.user, command(process), workload(process), process.container)
    name = row.view.device.name if row.view else ""
    return (*(text for text in texts if text), name)


def complaint(error: ExpressionError) -> str:
    """An expression's error on one line: what is wrong and at which column."""
    rows = str(error).splitlines()
    hint = rows[3] if len(rows) > 3 else ""
    return f"{rows[0]}; {hint}" if hint else rows[0]
