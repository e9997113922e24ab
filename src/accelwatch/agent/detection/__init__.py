"""The detector of one node, which an agent loads only when a rule needs it: it imports numpy."""
