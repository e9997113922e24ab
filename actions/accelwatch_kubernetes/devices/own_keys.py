"""Keys of an observation's `own` under which what was read of devices stands."""

# Our rules of all nodes, and the slices of the intent's node, as lists in JSON.
RULES, SLICES = "device_rules", "slices"
# The version that serves rules; empty where the server serves none.
VERSION = "device_rule_version"
