"""The third generator over the typed tree: a rule as PromQL over what agents expose (docs/metrics.md).

A condition is two vectors, as in columns: those for which it is true and those for which it is false;
who is in neither is not known. What PromQL cannot express raises `PromqlError` with the reason.
"""

from accelwatch.expr.promql.generator import Generated, condition
from accelwatch.expr.promql.query import PromqlError
from accelwatch.expr.promql.query_context import Assumed

__all__ = ["Assumed", "Generated", "PromqlError", "condition"]
