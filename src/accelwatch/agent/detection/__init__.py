"""The detector of one node, which an agent loads only when a rule asks for it: numpy is here."""
