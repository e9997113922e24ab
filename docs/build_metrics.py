"""Writes docs/metrics.md from the catalogue: `python docs/build_metrics.py`; a test keeps it current."""

from pathlib import Path

from accelwatch.schema.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category
from accelwatch.schema.metrics import Metric, Scope, Tier, catalogue

TARGET = Path(__file__).with_name("metrics.md")

_SECTIONS = (
    ("Devices", lambda row: row.scope is not Scope.NODE and row.tier is not Tier.AGGREGATE),
    ("Host", lambda row: row.group == "host"),
    ("Ourselves", lambda row: row.tier is Tier.SELF and row.scope is Scope.NODE),
    ("Fleet and rules", lambda row: row.tier is Tier.AGGREGATE),
)

_HEAD = """\
# Metrics

Generated from the catalogue in `src/accelwatch/schema/catalogue/` by `docs/build_metrics.py`; do not edit.

The key is the word in JSON, CSV, `--fields` and expressions; with the prefix `accel_` it is the
Prometheus family. Units are base units: ratio is 0 to 1. Every series of a device carries the labels
`vendor`, `device` and `uuid`; the labels below come in addition. A quantity without a value has no
series; in JSON it is null with its reason in `absent`.

Who gets a row: **minimal** is `--profile minimal`; **default** in addition; **opt-in** by the named
group; **workload** when a container or job source is there; **self** always; **aggregate** from the hub
and the rule engine.
"""


def _row(row: Metric) -> str:
    who = f"opt-in: {row.group}" if row.group else row.tier.value
    labels = ", ".join(row.labels) or "-"
    primary = " or ".join(".".join(values) for values in row.primary) or "-"
    cells = (f"`{row.key}`", row.kind.value, row.unit or "-", who, labels, primary, row.help)
    return "| " + " | ".join(cells) + " | " + (row.otel or "-").replace("|", "\\|") + " |"


def build() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, belongs in _SECTIONS:
        parts.append(f"\n## {title}\n")
        parts.append(
            "| key | kind | unit | who gets it | labels | bare name means | meaning | OTel |"
        )
        parts.append("|---|---|---|---|---|---|---|---|")
        parts += [_row(row) for row in catalogue() if belongs(row)]
    parts.append("\n## Words\n")
    parts.append(f"- Why a value is absent: {', '.join(Absence)}.")
    parts.append(f"- State of a device: {', '.join(DeviceState)}.")
    parts.append(f"- Category of an error event: {', '.join(Category)}.")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(build())
