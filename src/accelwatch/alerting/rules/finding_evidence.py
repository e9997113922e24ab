"""What a finding of the detector rests on, as evidence of an incident."""

from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.detection.findings.finding import Finding, Signal
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.display import quantity
from accelwatch.schema.series import series_of

# Evidence says by this that it is a detector's; behind it is the channel.
SOURCE = "detector"


def evidence_of_finding(finding: Finding) -> tuple[Evidence, ...]:
    """The sentence, then the signals, the strongest first."""
    sentence = Evidence(signal=SOURCE, text=finding.sentence, since=finding.onset, source=SOURCE)
    return (sentence, *map(_evidence, finding.signals))


def _evidence(signal: Signal) -> Evidence:
    expected = signal.usual if signal.expected is None else signal.expected
    return Evidence(
        signal=signal.name,
        text=_text(signal),
        value=signal.value,
        expected=expected,
        z=signal.z,
        since=signal.since,
        source=f"{SOURCE}:{signal.channel}",
    )


def _text(signal: Signal) -> str:
    """`power_watts is 412 W; its peers have 455 W (450 W to 460 W), usual here is 453 W; z -9.1`."""
    if signal.value is None:
        return signal.name
    phrases = []
    if signal.expected is not None:
        peers = f"its peers have {value_text(signal.name, signal.expected)}"
        if signal.low is not None and signal.high is not None:
            low, high = (value_text(signal.name, edge) for edge in (signal.low, signal.high))
            peers += f" ({low} to {high})"
        phrases.append(peers)
    if signal.usual is not None:
        phrases.append(f"usual here is {value_text(signal.name, signal.usual)}")
    compared = ", ".join(phrases)
    text = f"{signal.name} is {value_text(signal.name, signal.value)}"
    text += f"; {compared}" if compared else ""
    return text if signal.z is None else f"{text}; z {signal.z:+.1f}"


def value_text(name: str, value: float) -> str:
    """In the unit of the series; a counter is a rate a second here."""
    key = series_of(name)[0]
    if key not in by_key():
        return f"{value:.4g}"
    per_second = "/s" if key.endswith("_total") else ""
    return quantity(key, float(f"{value:.3g}") if per_second else value) + per_second
