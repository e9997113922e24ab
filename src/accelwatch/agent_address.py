"""Where an agent answers unless it is told otherwise."""

DEFAULT_ADDRESS = "127.0.0.1:9877"
