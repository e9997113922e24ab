"""What a device did over time: maxima of the rolling window, distributions of samples."""

from accelwatch.schema.metrics import Kind, Metric, MetricSource, Tier

METRICS: tuple[Metric, ...] = (
    Metric(
        "window_utilization_max_ratio",
        Kind.GAUGE,
        Tier.MINIMAL,
        "ratio",
        "Maximum busy ratio seen in the rolling window.",
        source=MetricSource.DERIVED,
    ),
    Metric(
        "window_power_max_watts",
        Kind.GAUGE,
        Tier.DEFAULT,
        "watts",
        "Maximum power draw seen in the rolling window.",
        source=MetricSource.DERIVED,
    ),
    Metric(
        "window_temperature_max_celsius",
        Kind.GAUGE,
        Tier.DEFAULT,
        "celsius",
        "Maximum temperature seen in the rolling window.",
        labels=("sensor",),
        source=MetricSource.DERIVED,
        primary=(("gpu",), ("junction",)),
    ),
    Metric(
        "window_memory_used_max_bytes",
        Kind.GAUGE,
        Tier.DEFAULT,
        "bytes",
        "Maximum device memory in use seen in the rolling window.",
        source=MetricSource.DERIVED,
    ),
    Metric(
        "sampled_utilization_ratio",
        Kind.HISTOGRAM,
        Tier.OPT_IN,
        "ratio",
        "Distribution of busy-ratio samples taken at the internal sample interval.",
        group="histograms",
        source=MetricSource.DERIVED,
        buckets=(0.05, 0.25, 0.5, 0.75, 0.9, 0.99),
    ),
    Metric(
        "sampled_power_watts",
        Kind.HISTOGRAM,
        Tier.OPT_IN,
        "watts",
        "Distribution of power samples taken at the internal sample interval.",
        group="histograms",
        source=MetricSource.DERIVED,
        buckets=(50.0, 100.0, 200.0, 300.0, 450.0, 700.0, 1000.0),
    ),
)
