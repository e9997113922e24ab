"""How the name of a metric says its unit."""

# Unit of the catalogue to the ends that a name of that unit may have.
UNIT_SUFFIXES = {
    "ratio": ("_ratio",),
    "celsius": ("_celsius",),
    "watts": ("_watts",),
    "joules": ("_joules_total",),
    "hertz": ("_hertz",),
    "bytes": ("_bytes", "_bytes_total"),
    "bytes/s": ("_bytes_per_second",),
    "seconds": ("_seconds", "_seconds_total"),
    "unix seconds": ("_timestamp_seconds",),
    "volts": ("_volts",),
    "amperes": ("_amperes",),
    "rpm": ("_rpm",),
    "lanes": ("_lanes",),
    "generation": ("_generation",),
    "events": ("_total",),
}
