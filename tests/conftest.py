"""What every test may count on, however the suite was started."""

import logging
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# How long an example takes tells of the machine. What a test sets itself builds on this.
settings.load_profile("unhurried")


# These assert as tests do. Tests of other folders import them too, so it is said before any of them.
pytest.register_assert_rewrite(
    "fleet.misbehaving_targets.short_waits", "fleet.misbehaving_targets.processes"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The contract suite can be run over the machines of a backend that is not in this repository."""
    parser.addoption("--machines", metavar="MODULE", help="module whose MACHINES are tried instead")


def pytest_configure() -> None:
    """Hear ^C again: a shell starts its background jobs without, and every child would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _logging_ends_with_the_test() -> Iterator[None]:
    """A daemon, and a hub that reads its configuration again, set up logging for their process."""
    root, of_asyncio = logging.getLogger(), logging.getLogger("asyncio")
    before = root.level, of_asyncio.level, logging.raiseExceptions
    handlers = list(root.handlers)
    yield
    root.setLevel(before[0])
    of_asyncio.setLevel(before[1])
    logging.raiseExceptions = before[2]
    root.handlers[:] = handlers
