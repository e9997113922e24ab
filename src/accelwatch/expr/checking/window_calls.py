"""Checks the calls of windows: over which quantity, how long."""

import ast

from accelwatch.expr.checking.tree import Constant, Reading, Window
from accelwatch.expr.checking.typing_pass import Typing, literal, only_keywords, seconds_of
from accelwatch.expr.vocabulary.names import Type
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.expr.vocabulary.windows import LEAST_S, LONGEST_S, WINDOWS, WindowKind, WindowRow
from accelwatch.schema.metrics import Kind


def is_window(typing: Typing, call: ast.Call, name: str) -> bool:
    """Whether a call of a name that functions have too is meant as a window: min(m, "5m")."""
    if name not in WINDOWS:
        return False
    return name not in ("min", "max") or any(
        literal(typing, argument) is not None for argument in call.args
    )


def window(typing: Typing, call: ast.Call, name: str) -> Window:
    """The typed window; raises ExpressionError."""
    row = WINDOWS[name]
    only_keywords(typing, call, name, [])
    arity = {WindowKind.AGE: 1, WindowKind.QUANTILE: 3}.get(row.gauge or WindowKind.RATE, 2)
    if len(call.args) != arity:
        values = "value" if arity == 1 else "values"
        message = f"{name} takes {arity} {values}, not {len(call.args)}"
        raise typing.refusal(call, message, f"write {row.usage}")
    reading, kind = _over(typing, call.args[0], row)
    seconds = 0 if arity == 1 else seconds_of(typing, call.args[-1], LEAST_S, LONGEST_S)
    share = _share(typing, call.args[1], row) if arity == 3 else None
    # What a host did is no job's own: others run there too.
    of_host_itself = any(isinstance(key, tuple) and of_host(key) for key in reading.keys)
    of_job = typing.of_job and kind is not WindowKind.AGE and not of_host_itself
    return Window(kind.value, reading, seconds, share, row.result, of_job)


def _over(typing: Typing, source: ast.expr, row: WindowRow) -> tuple[Reading, WindowKind]:
    node = typing.typed(source)
    if node.type is Type.STRING:
        raise typing.refusal(source, f"{row.name} is over a quantity, but this is text")
    if not isinstance(node, Reading):
        hint = f"write {row.usage}, and reckon with what it gives"
        raise typing.refusal(source, f"{row.name} is over a quantity itself", hint)
    key = node.keys[0]
    metric = typing.names.rows.get(key[0]) if isinstance(key, tuple) else None
    if metric is None:
        raise typing.refusal(source, f"{key} is not a quantity, so no history of it is kept")
    if row.flags_only and node.type is not Type.FLAG:
        message = f"{row.name} is over a flag, but {metric.key} is a number"
        raise typing.refusal(source, message, f'write {row.instead}({metric.key}, "5m")')
    kind = row.counter if metric.kind is Kind.COUNTER else row.gauge
    if kind is None:
        is_a = "counter" if metric.kind is Kind.COUNTER else "gauge"
        expected = "gauge" if is_a == "counter" else "counter"
        message = f"{row.name} is over a {expected}, but {metric.key} is a {is_a}"
        raise typing.refusal(source, message, f'write {row.instead}({metric.key}, "5m")')
    return node, kind


def _share(typing: Typing, source: ast.expr, row: WindowRow) -> float:
    node = typing.typed(source)
    if isinstance(node, Constant) and isinstance(node.value, int | float) and 0 <= node.value <= 1:
        return float(node.value)
    raise typing.refusal(source, "a quantile is a number from 0 to 1", f"write {row.usage}")
