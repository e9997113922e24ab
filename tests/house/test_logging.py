"""What a test does to logging ends with it."""

import logging

import pytest

from accelwatch.system.daemon.logs import set_up_logging


@pytest.mark.parametrize("turn", [1, 2])
def test_a_daemon_that_sets_up_logging_leaves_the_next_test_alone(turn: int) -> None:
    root = logging.getLogger()
    of_asyncio = logging.getLogger("asyncio").level
    own = [handler for handler in root.handlers if type(handler) is logging.StreamHandler]
    assert (root.level, of_asyncio, own) == (logging.WARNING, logging.NOTSET, []), turn
    assert logging.raiseExceptions
    set_up_logging("debug", "text")
