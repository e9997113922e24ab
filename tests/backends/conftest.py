"""What the tests of all backends share."""

from support.machines.patient_commands import patient_commands

__all__ = ["patient_commands"]
