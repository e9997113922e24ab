"""Filters by expression or by plain text, for devices and for processes.

Text without an operator is looked for in the names; anything else is an expression of
docs/expressions.md. A process has the names of its device, and its own.
"""

import re
from collections.abc import Callable
from functools import cache

import msgspec

from accelwatch.errors import ExpressionError
from accelwatch.expr import (
    MISSING,
    Key,
    Missing,
    NameTable,
    Type,
    Value,
    compile_condition,
    device_names,
)
from accelwatch.schema.snapshot import DeviceView
from accelwatch.selection import lookup
from accelwatch.tui.local.process_rows import ProcessRow, command, workload

PROCESS_NAMES = {
    "pid": Type.NUMBER,
    "user": Type.STRING,
    "command": Type.STRING,
    "type": Type.STRING,
    "container": Type.STRING,
    "pod": Type.STRING,
    "job": Type.STRING,
    "gpu_memory_bytes": Type.NUMBER,
    "host_memory_bytes": Type.NUMBER,
    "cpu_utilization_ratio": Type.NUMBER,
    "gpu_utilization_ratio": Type.NUMBER,
}
"""Names that a process has besides those of its device."""
_OPERATOR = re.compile(r"[=<>()!]|\b(and|or|not|in)\b")


@cache
def process_names() -> NameTable:
    """The names that a condition on processes may use."""
    names = device_names()
    return msgspec.structs.replace(names, identity={**names.identity, **PROCESS_NAMES})


def is_expression(text: str, names: NameTable) -> bool:
    """Whether a text is meant as a condition rather than as words to look for."""
    first = re.split(r"[.\[]", text, maxsplit=1)[0]
    return bool(_OPERATOR.search(text)) or first in names.rows


def device_filter(text: str, host: str) -> Callable[[DeviceView], bool] | None:
    """What keeps a device; None for an empty text. Raises ExpressionError."""
    text = text.strip()
    if not text:
        return None
    if is_expression(text, device_names()):
        condition = compile_condition(text, device_names())
        return lambda view: condition.evaluate(lookup(view, host)) is True
    word = text.lower()
    return lambda view: any(word in one.lower() for one in _device_words(view))


def _device_words(view: DeviceView) -> tuple[str, ...]:
    device = view.device
    given = (device.name, device.id, device.model, device.pci_bus_id, device.partition)
    return (*(word for word in given if word), view.state.value)


def process_filter(text: str, host: str) -> Callable[[ProcessRow], bool] | None:
    """What keeps a process; None for an empty text. Raises ExpressionError."""
    text = text.strip()
    if not text:
        return None
    if is_expression(text, process_names()):
        condition = compile_condition(text, process_names())
        return lambda row: condition.evaluate(process_lookup(row, host)) is True
    word = text.lower()
    return lambda row: any(word in one.lower() for one in _process_words(row))


def _process_words(row: ProcessRow) -> tuple[str, ...]:
    process = row.process
    if process is None:
        return ()
    given = (str(process.pid), process.user, command(process), workload(process), process.container)
    name = row.view.device.name if row.view else ""
    return (*(word for word in given if word), name)


def process_lookup(row: ProcessRow, host: str) -> Callable[[Key], Value | Missing]:
    """How an expression sees a process."""
    process = row.process
    of_device = lookup(row.view, host) if row.view else None

    def value(key: Key) -> Value | Missing:
        if isinstance(key, str) and key in PROCESS_NAMES and process is not None:
            name = "utilization_ratio" if key == "gpu_utilization_ratio" else key
            found: Value | None = getattr(process, name)
            return MISSING if found is None else found
        return of_device(key) if of_device else MISSING

    return value


def complaint(error: ExpressionError) -> str:
    """An expression's error on one line: what is wrong and at which column."""
    rows = str(error).splitlines()
    hint = rows[3] if len(rows) > 3 else ""
    return f"{rows[0]}; {hint}" if hint else rows[0]
