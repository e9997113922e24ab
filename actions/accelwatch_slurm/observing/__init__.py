"""How nodes and jobs stand for an intent: what is read, remembered and proven."""
