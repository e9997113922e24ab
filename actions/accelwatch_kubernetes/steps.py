"""Names of the steps, by which the journal knows them."""

TAINT = "taint"
UNTAINT = "untaint"
DRAW = "draw"
RETURN = "return"
TAINT_DEVICE = "taint_device"
UNTAINT_DEVICE = "untaint_device"

# In the precondition of RETURN: the incident that the spare was drawn for when that was proposed.
DRAWN_FOR = "drawn_for"
