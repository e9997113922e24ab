"""Other people's exporters, and our own text, read into our schema: a table for each."""

from accelwatch.fleet.dialects.base.precedence import PRECEDENCE
from accelwatch.fleet.dialects.base.table import Dialect, FamilyMapping
from accelwatch.fleet.dialects.foreign import Foreign, ForeignReader, TextSample, read_devices
from accelwatch.fleet.dialects.merge import merge
from accelwatch.fleet.dialects.recognise import recognise

__all__ = [
    "PRECEDENCE",
    "Dialect",
    "FamilyMapping",
    "Foreign",
    "ForeignReader",
    "TextSample",
    "merge",
    "read_devices",
    "recognise",
]
