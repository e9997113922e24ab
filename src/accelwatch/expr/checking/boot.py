"""Since when a node runs: what an event that only a boot cures is compared with."""

from accelwatch.expr.checking.tree import Reading, Window
from accelwatch.expr.vocabulary.names import Type
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.schema.metrics import Series

UPTIME_SERIES: Series = ("host_uptime_seconds",)
UPTIME = Reading((UPTIME_SERIES,), Type.NUMBER)
# Missing where no uptime was ever reported; a node that is silent while it boots has reported one.
UPTIME_AGE = Window(WindowKind.AGE.value, UPTIME, 0, None, Type.NUMBER)
# Boot times are whole seconds, and the clock is set in the first ones.
SLACK_S = 5
