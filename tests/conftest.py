"""What every test may count on, however the suite was started."""

import signal


def pytest_configure() -> None:
    """Hear ^C again: a shell starts its background jobs without, and every child would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
