"""The hub board: whom the hub reaches, what it misses, and how what it passes on fares."""

from model import Board, Kind, Panel, Variable, row, stat

JOB = Variable("job", "Job", "label_values(accel_fleet_nodes, job)")
INSTANCE = Variable("instance", "Hub", 'label_values(accel_fleet_nodes{job=~"$job"}, instance)')
_OFF = "no data: this is not configured on the hub"

BOARD = Board(
    "hub",
    "Hub",
    "How the hubs fare: whom they reach, what they miss, and how what they pass on fares. Needs a "
    "hub's own /metrics, or its remote write.",
    (JOB, INSTANCE),
    (
        row("Fleet"),
        stat("Nodes", "Nodes that the hub knows.", "short", "sum(accel_fleet_nodes{@node})"),
        stat(
            "Not reached",
            "Nodes of which no read succeeds.",
            "short",
            "count(accel_fleet_target_up{@node} == 0) or vector(0)",
            alarm=True,
        ),
        stat(
            "Missing",
            "Devices that their nodes do not list any more, and nobody acknowledged.",
            "short",
            'sum(accel_fleet_devices{@node, state="missing"}) or vector(0)',
            alarm=True,
        ),
        stat(
            "Claimed twice",
            "Devices that two nodes claim; totals count them twice.",
            "short",
            "sum(accel_fleet_identity_conflicts{@node})",
            alarm=True,
        ),
        Panel(
            "Nodes by state",
            "Nodes by how old what is known of them is.",
            "short",
            (("sum by (instance, state) (accel_fleet_nodes{@node})", "{{instance}} {{state}}"),),
        ),
        Panel(
            "Devices by state",
            "Devices of the fleet by vendor and state.",
            "short",
            (("sum by (vendor, state) (accel_fleet_devices{@node})", "{{vendor}} {{state}}"),),
        ),
        row("Following"),
        Panel(
            "Reads that failed",
            "Reads of targets that failed, a second; the ten worst nodes.",
            "cps",
            (
                (
                    "topk(10, sum by (node)"
                    " (rate(accel_fleet_target_failures_total{@node}[$__rate_interval])))",
                    "{{node}}",
                ),
            ),
        ),
        Panel(
            "Duration of a read",
            "How long the last read of a target took; the ten slowest.",
            "s",
            (("topk(10, accel_fleet_target_read_duration_seconds{@node})", "{{node}}"),),
        ),
        Panel(
            "Wrong clocks",
            "How far the clock of a node is from the hub's; the ten worst.",
            "s",
            (("topk(10, abs(accel_fleet_target_clock_skew_seconds{@node}))", "{{node}}"),),
        ),
        Panel(
            "Discovery",
            "Whether each way of finding targets works.",
            "short",
            (("accel_fleet_discovery_up{@node}", "{{instance}} {{discovery}}"),),
            Kind.TIMELINE,
        ),
        row("Passing on"),
        Panel(
            "Remote write",
            "Samples a second that the receiver took, refused, and that a full queue dropped.",
            "cps",
            (
                (
                    "rate(accel_fleet_remote_write_samples_total{@node}[$__rate_interval])",
                    "{{instance}} taken",
                ),
                (
                    "rate(accel_fleet_remote_write_samples_failed_total{@node}[$__rate_interval])",
                    "{{instance}} refused",
                ),
                (
                    "rate(accel_fleet_remote_write_samples_dropped_total{@node}[$__rate_interval])",
                    "{{instance}} dropped",
                ),
            ),
            no_value=_OFF,
        ),
        Panel(
            "OTLP",
            "Points a second that the receiver took, refused, and that a full queue dropped.",
            "cps",
            (
                ("rate(accel_otlp_points_total{@node}[$__rate_interval])", "{{instance}} taken"),
                (
                    "rate(accel_otlp_points_failed_total{@node}[$__rate_interval])",
                    "{{instance}} refused",
                ),
                (
                    "rate(accel_otlp_points_dropped_total{@node}[$__rate_interval])",
                    "{{instance}} dropped",
                ),
            ),
            no_value=_OFF,
        ),
        row("Remedies"),
        Panel(
            "Nodes by stage",
            "Nodes that a remedy is about, by its stage.",
            "short",
            (("sum by (stage) (accel_remedy_nodes{@node})", "{{stage}}"),),
            no_value=_OFF,
        ),
        Panel(
            "Waiting for people",
            "Age of the oldest plan that waits for a yes, and of the oldest effect of unknown end.",
            "s",
            (
                ("accel_remedy_oldest_approval_seconds{@node}", "{{instance}} approval"),
                ("accel_remedy_oldest_unknown_seconds{@node}", "{{instance}} unknown"),
            ),
            no_value=_OFF,
        ),
    ),
)
