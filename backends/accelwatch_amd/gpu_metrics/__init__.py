"""The telemetry table of the power firmware: its bytes, and what they mean."""
