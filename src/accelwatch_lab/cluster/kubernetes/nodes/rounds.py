"""What the daemons of the lab's cluster do: one round after another, whatever the API server answers."""

import logging
import time
from collections.abc import Callable
from typing import NoReturn

from accelwatch_lab.cluster.http_client import NoAnswerError
from accelwatch_lab.cluster.kubernetes.api import ApiRefusalError

_LOG = logging.getLogger(__name__)
_ROUND_S = 0.2


def run_rounds(run_round: Callable[[], None]) -> NoReturn:
    """Until the process is ended."""
    while True:
        try:
            run_round()
        except (ApiRefusalError, NoAnswerError) as error:
            # Another round sees what is left.
            _LOG.warning("round not finished: %s", error)
        time.sleep(_ROUND_S)
