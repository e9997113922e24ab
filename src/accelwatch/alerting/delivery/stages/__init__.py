"""The stages that a notification passes on its way to a sink, one job each. Pure: time is given."""
