"""Names of the steps, by which the journal knows them."""

UNSCHEDULE = "unschedule"
SCHEDULE = "schedule"
DRAW = "draw"
RETURN = "return"
