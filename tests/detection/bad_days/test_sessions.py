"""Half days of a training without a fault, and one after them."""

import pytest

from accelwatch.detection.detector import Detector
from support.detection.cluster import Cluster, alerts, play
from support.detection.sessions import Sessions

_HALF_A_DAY = 1440


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sessions_that_load_train_save_and_rest_wake_nobody(seed: int) -> None:
    fleet, detector = Cluster(8, each=4, seed=seed), Detector()
    sessions = Sessions(fleet, seed)

    assert alerts(play(detector, fleet, _HALF_A_DAY, sessions)) == []

    fleet.slow(17)
    found = alerts(play(detector, fleet, 200, lambda tick: sessions(_HALF_A_DAY + tick)))
    assert {finding.node for finding in found} == {"node4"}
    assert found[0].device == "gpu17"
