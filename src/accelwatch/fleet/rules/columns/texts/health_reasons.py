"""What is wrong with devices that are not healthy, as a column of texts."""

import numpy as np

from accelwatch.fleet.rules.columns.columns import Indices, Texts
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.table.state_codes import HEALTH
from accelwatch.schema.health import Health

_UNHEALTHY = (HEALTH[Health.FAILED], HEALTH[Health.DEGRADED])


class HealthReasons:
    """Gives the same object for as long as the reasons are the same."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._kept: Texts | None = None

    def texts(self, health: Indices) -> Texts:
        """The reasons of each row; `health` is the code of each."""
        present = self._fleet.table.present
        codes = np.full(len(health), -1, dtype=np.intp)
        code_of: dict[str, int] = {}
        for row in np.flatnonzero(np.isin(health, _UNHEALTHY)).tolist():
            device = present[row]
            if device is not None and device.usage.health_reasons:
                text = "; ".join(device.usage.health_reasons)
                codes[row] = code_of.setdefault(text, len(code_of))
        texts = Texts(codes, tuple(code_of))
        kept = self._kept
        if (
            kept is None
            or kept.values != texts.values
            or not np.array_equal(kept.codes, texts.codes)
        ):
            kept = self._kept = texts
        return kept
