"""What a quantity is called where people read it: words, without the unit that its value has."""

from functools import cache

from accelwatch.schema.metrics import Series

# Ends of keys that say a unit.
_UNITS = (
    "_timestamp_seconds",
    "_bytes_per_second",
    "_ratio",
    "_celsius",
    "_watts",
    "_joules",
    "_hertz",
    "_bytes",
    "_seconds",
    "_volts",
    "_amperes",
    "_rpm",
)
_SPELLED = {
    "ecc": "ECC",
    "pcie": "PCIe",
    "sram": "SRAM",
    "gpu": "GPU",
    "nvlink": "NVLink",
    "xgmi": "xGMI",
    "hbm": "HBM",
    "sm": "SM",
    "cpu": "CPU",
}


# Called for each quantity at each repaint; the name depends on the series alone.
@cache
def quantity_name(series: Series) -> str:
    """`memory bandwidth utilization`, `ECC errors, corrected` for ecc_errors_total by its label."""
    key, *labels = series
    key = key.removesuffix("_total").removesuffix("_info")
    unit = next((end for end in _UNITS if key.endswith(end)), "")
    named = _spelled(key.removesuffix(unit))
    return f"{named}, {_spelled(' '.join(labels))}" if labels else named


def _spelled(text: str) -> str:
    return " ".join(_SPELLED.get(piece, piece) for piece in text.replace("_", " ").split(" "))
