"""The devices of a node as rows: their identity, their state and how they are shown."""
