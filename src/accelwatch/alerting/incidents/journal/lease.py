"""The right to write a journal, as its only writer knows it: by which token, and until when for sure."""

import math
import time

# It goes on while a machine sleeps, as the database's clock does.
_CLOCK = time.CLOCK_BOOTTIME if hasattr(time, "CLOCK_BOOTTIME") else time.CLOCK_MONOTONIC
NEVER = -math.inf
# Of a token: above it is the timeline of the database, another one after each fail-over.
_COUNTER_BITS = 32


class Lease:
    """Of one open journal; its thread changes it, any thread may read it."""

    def __init__(self, valid_until: float = math.inf, sure_s: float = 0.0) -> None:
        """`valid_until` is infinite where a lock of the file lasts as long as the process, `sure_s` for
        how long a renewal proves it.
        """
        self.sure_s = sure_s
        # Greater than that of everybody who wrote before; 0 where only one process ever can.
        self.token = 0
        # Why nothing may be written any more until the journal is opened again; empty while it may.
        self.lost = ""
        # Why the database may lose what it has committed; empty where it keeps it.
        self.loss_risk = ""
        # Seconds of `lease_clock` until which nobody else can have it.
        self.valid_until = valid_until

    @property
    def age_s(self) -> float | None:
        """Seconds since it was renewed last; None where it need not be, or never was."""
        return (
            None if math.isinf(self.valid_until) else lease_clock() + self.sure_s - self.valid_until
        )

    @property
    def problem(self) -> str:
        """Why another may have it by now; empty while nobody can."""
        if self.lost or lease_clock() < self.valid_until:
            return self.lost
        return "the journal's lease has not been renewed in time, and another hub may lead by now"


def next_token(timeline: int, token: int) -> int:
    """The token after another one, on a timeline."""
    return (timeline << _COUNTER_BITS) + (token & ((1 << _COUNTER_BITS) - 1)) + 1


def timeline_of(token: int) -> int:
    """The timeline of the database that a token was given on; 0 where there is no database."""
    return token >> _COUNTER_BITS


def lease_clock() -> float:
    """Seconds that also pass while the machine sleeps."""
    return time.clock_gettime(_CLOCK)
