"""The exporter board: what watching costs and what it misses."""

from model import INSTANCE, JOB, Board, Kind, Panel, row

BOARD = Board(
    "exporter",
    "Exporter",
    "How the agents themselves fare: what watching costs and what it misses. Empty where samples "
    "come through a hub: agents tell this only to who scrapes them.",
    (JOB, INSTANCE),
    (
        row("Collecting"),
        Panel(
            "Cycle duration",
            "Duration of the last cycle of each collector.",
            "s",
            (("accel_collector_duration_seconds{@node}", "{{instance}} {{collector}}"),),
        ),
        Panel(
            "Cycles that failed",
            "Cycles per second that ended in an error, a timeout or were skipped.",
            "cps",
            (
                (
                    'rate(accel_collector_cycles_total{@node, result!="ok"}[$__rate_interval])',
                    "{{instance}} {{collector}} {{result}}",
                ),
            ),
        ),
        Panel(
            "Age of the last success",
            "Time since the last successful cycle of each collector.",
            "s",
            (
                (
                    "time() - accel_collector_last_success_timestamp_seconds{@node}",
                    "{{instance}} {{collector}}",
                ),
            ),
        ),
        Panel(
            "Quantities that cannot be read",
            "Quantities a collector cannot read, by reason; /capabilities lists them.",
            "short",
            (
                (
                    "accel_collector_unavailable_quantities{@node}",
                    "{{instance}} {{collector}} {{reason}}",
                ),
            ),
        ),
        row("Serving"),
        Panel(
            "Series",
            "Series in the current snapshot, and series withheld by a cap since the last point.",
            "short",
            (
                ("accel_exporter_series{@node}", "{{instance}}"),
                (
                    "increase(accel_exporter_series_dropped_total{@node}[$__rate_interval])",
                    "{{instance}} withheld: {{reason}}",
                ),
            ),
        ),
        Panel(
            "Scrapes",
            "Scrapes answered per second, by HTTP status code.",
            "reqps",
            (
                (
                    "rate(accel_exporter_scrapes_total{@node}[$__rate_interval])",
                    "{{instance}} {{code}}",
                ),
            ),
        ),
        Panel(
            "Scrape latency",
            "Time the agent needs to answer (99th percentile), and the whole scrape as Prometheus "
            "sees it.",
            "s",
            (
                (
                    "histogram_quantile(0.99, sum by (instance, le)"
                    " (rate(accel_exporter_scrape_duration_seconds_bucket{@node}"
                    "[$__rate_interval])))",
                    "{{instance}} agent p99",
                ),
                ("scrape_duration_seconds{@node}", "{{instance}} as seen by Prometheus"),
            ),
        ),
        Panel(
            "Samples per scrape",
            "Samples that Prometheus stored from each scrape.",
            "short",
            (("scrape_samples_scraped{@node}", "{{instance}}"),),
        ),
        row("Cost"),
        Panel(
            "Processor",
            "Processor time by process, in cores.",
            "percentunit",
            (
                (
                    "rate(accel_exporter_cpu_seconds_total{@node}[$__rate_interval])",
                    "{{instance}} {{process}}",
                ),
            ),
        ),
        Panel(
            "Memory",
            "Resident memory by process.",
            "bytes",
            (("accel_exporter_resident_memory_bytes{@node}", "{{instance}} {{process}}"),),
        ),
        Panel(
            "Versions",
            "Build of each agent.",
            "none",
            (("accel_exporter_build_info{@node}", ""),),
            Kind.TABLE,
            24,
        ),
    ),
    scraped=True,
)
