"""How long things take in the stand-in; a test may set what it likes."""

import msgspec


class Pace(msgspec.Struct, kw_only=True):
    """Seconds. Those that are short here take a real manager one to ten."""

    # From creation to the first look of the scheduler.
    schedule_s: float = 0.0
    # Of each of the stages from SCHEDULED to RUNNING.
    stage_s: float = 0.01
    # From TERMINATING to TERMINATED.
    end_s: float = 0.02
    # Until a session that could not be placed is looked at again.
    retry_s: float
    # After its last heartbeat an agent is ALIVE for so long: heartbeat-timeout 40 s, seen 27 to 37 s
    # after the kill, as heartbeats come every few seconds.
    lost_after_s: float = 37.0
