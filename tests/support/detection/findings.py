"""Findings as a detector makes them."""

from accelwatch.detection.findings.finding import Finding, Level, Scope, Signal

POWER = Signal(
    name="power_watts",
    value=412.0,
    expected=455.0,
    low=450.0,
    high=460.0,
    usual=453.0,
    z=-9.1,
    since=1_790_000_000.0,
    channel="peer",
)


def finding(scope: Scope, **changes: object) -> Finding:
    made: dict[str, object] = {
        "key": f"{scope}/x",
        "level": Level.ALERT,
        "scope": scope,
        "node": "a",
        "device": "",
        "job": "",
        "nodes": ("a",),
        "family": "power",
        "channels": ("peer",),
        "advice": "exclude",
        "score": 9.1,
        "onset": 1_790_000_000.0,
        "opened": 1_790_000_240.0,
        "updated": 1_790_000_240.0,
        "cleared": None,
        "signals": (POWER,),
        "sentence": "a draws 9 % less power at equal load.",
    }
    return Finding(**{**made, **changes})  # type: ignore[arg-type]
