"""How long things last in the stand-in; a test may set what it likes."""

import msgspec


class Pace(msgspec.Struct, kw_only=True):
    """Seconds. What is short here lasts one to ten in a real manager."""

    # From creation to the scheduler's first try.
    schedule_s: float = 0.0
    # Of each of the stages from SCHEDULED to RUNNING.
    stage_s: float = 0.01
    # From TERMINATING to TERMINATED.
    end_s: float = 0.02
    # Until the scheduler retries a session that could not be placed.
    retry_s: float
    # After its last heartbeat an agent is ALIVE for so long: heartbeat-timeout 40 s, seen 27 to 37 s
    # after the kill, as heartbeats come every few seconds.
    lost_after_s: float = 37.0
