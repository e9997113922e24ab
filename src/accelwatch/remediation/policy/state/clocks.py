"""How long the stages of a remedy wait, where no setting says so."""

# How long nothing may have been heard of a node, besides that its scheduler's daemon is silent, before
# it counts as not answering.
UNREACHABLE_S = 10.0
# How old a look at a node may be that something is decided upon.
FRESH_S = 60.0
# Between two looks at a node that count as one row of good ones.
GAP_S = 60.0
# After which a person is told that nobody can tell what a suspect node is like.
BLIND_S = 600.0
BLIND_AGAIN_S = 3600.0
# How long a rule has to clear after a remedy, before the next one is tried.
SETTLE_S = 600.0
LONGER = 3.0
# Of what has failed often the passive time is so many times as long, and at least so long.
LONG_S = 1800.0
# Before what failed is tried again; twice as long after every further failure.
RETRY_S = 900.0
MOST_FAILURES = 4
# How long a person's no holds that names no end.
DENIED_S = 24 * 3600.0

# How long evidence may take to come after a job has died, before a person is told.
DEATH_SETTLES_S = 120.0
# How long a job that has died waits to be begun again, before a person has it.
REVIVAL_S = 3600.0

# How long a move may wait for a silent node that nothing named before a person is told.
HANGS_S = 60.0

# After a spare that could not be drawn, before one is asked for again.
SPARE_AGAIN_S = 60.0

# How long a scheduler may take to find out that its daemon on a node is silent.
PROBE_S = 30.0
# Between two probes of a node at least, however often it falls silent.
PROBE_AGAIN_S = 60.0

# For how long a scheduler may not answer before a person is notified of each node that waits for it.
SCHEDULER_S = 3600.0
# By how much longer what has a deadline of its own may take before a person is notified.
OVERRUN_S = 60.0

QUARANTINE_S = 600.0
RELEASE_S = 600.0
FENCE_S = 1800.0
JOB_S = 1800.0
SWAP_S = 900.0
REMEDY_S = 3600.0
TEST_S = 3600.0
SERVICE_S = 3600.0
# Until then an intent makes sense.
RESTORE_S = 7 * 86_400.0
