"""Names of the steps, by which the journal knows them."""

TAINT = "taint"
UNTAINT = "untaint"
DRAW = "draw"
RETURN = "return"
TAINT_DEVICE = "taint_device"
UNTAINT_DEVICE = "untaint_device"
