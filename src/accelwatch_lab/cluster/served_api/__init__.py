"""What the stand-ins of schedulers' APIs share: faults by rule, and the log of requests."""
