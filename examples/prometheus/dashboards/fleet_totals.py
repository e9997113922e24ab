"""The fleet board: is every accelerator there, is it well, does it work."""

from model import INSTANCE, JOB, Board, Kind, Panel, row, stat

BOARD = Board(
    "fleet",
    "Fleet",
    "Every accelerator of the chosen nodes: is it there, is it well, does it work.",
    (JOB, INSTANCE),
    (
        row("Now"),
        stat("Accelerators", "Known accelerators.", "short", "count(accel_device_up{@node})"),
        stat(
            "Lost",
            "Accelerators that fell off the bus or do not answer.",
            "short",
            'sum(accel_devices{@node, state=~"lost|unresponsive"})',
            alarm=True,
        ),
        stat(
            "Stale",
            "Accelerators awake whose last successful read is more than 2 minutes old.",
            "short",
            "sum(time() - accel_device_last_read_timestamp_seconds{@node} > bool 120"
            " unless on (instance, uuid) accel_device_suspended{@node} == 1)",
            alarm=True,
        ),
        stat(
            "Suspended",
            "Accelerators that sleep to save power; reading them would wake them.",
            "short",
            'sum(accel_devices{@node, state="suspended"})',
        ),
        stat(
            "Waiting for a reset",
            "Accelerators that ask for a reset, a reboot or a drain.",
            "short",
            "sum(accel_reset_required{@node})",
            alarm=True,
        ),
        stat("Power", "Power draw of all devices.", "watt", "sum(accel_power_watts{@node})"),
        Panel(
            "Devices by vendor, model and health",
            "Devices in each health state; a device that sleeps or is left out is unknown.",
            "short",
            (
                (
                    "count by (vendor, model, state) ((accel_health{@node} == 1)"
                    " * on (instance, uuid) group_left (model) accel_device_info{@node})",
                    "",
                ),
            ),
            Kind.TABLE,
        ),
        Panel(
            "Devices by presence",
            "Accelerators by vendor and presence state.",
            "short",
            (("sum by (vendor, state) (accel_devices{@node})", "{{vendor}} {{state}}"),),
        ),
        row("Use"),
        Panel(
            "Utilization of all devices",
            "How many devices were how busy: the mean busy ratio of each over 5 minutes.",
            "percentunit",
            (("instance_device:accel_utilization:avg5m{@node}", "{{instance}} {{device}}"),),
            Kind.HEATMAP,
        ),
        Panel(
            "Present, allocated, busy",
            "Devices that answer, devices given to a pod or job, and the sum of the busy ratios. "
            "The gap between the last two is paid for and unused.",
            "short",
            (
                ("sum(accel_device_up{@node})", "present"),
                (
                    "count(count by (instance, uuid) (accel_kubernetes_allocation_info{@node}"
                    " or accel_job_allocation_info{@node}))",
                    "allocated",
                ),
                ("sum(instance_device:accel_utilization:avg5m{@node})", "busy"),
            ),
        ),
        Panel(
            "Power by node",
            "Mean power of a node's accelerators, from their energy counters.",
            "watt",
            (
                (
                    "sum by (instance) (rate(accel_energy_joules_total{@node}[$__rate_interval]))",
                    "{{instance}}",
                ),
            ),
        ),
        Panel(
            "Energy of the last day",
            "Energy that all devices drew in the 24 hours before each point.",
            "joule",
            (("sum(increase(accel_energy_joules_total{@node}[1d]))", "energy"),),
        ),
        row("Trouble"),
        Panel(
            "Most throttled",
            "The ten devices and reasons with the largest share of time at reduced clocks.",
            "percentunit",
            (
                (
                    "topk(10, sum by (instance, device, reason)"
                    " (rate(accel_throttle_seconds_total{@node}[$__rate_interval])))",
                    "{{instance}} {{device}} {{reason}}",
                ),
            ),
            no_value="no data: no device reports throttling",
        ),
        Panel(
            "Error events of the last 24 hours",
            "Devices that reported an event of this code within the last 24 hours.",
            "short",
            (
                (
                    "count by (category, code)"
                    " (time() - accel_error_event_last_timestamp_seconds{@node} < 86400)",
                    "",
                ),
            ),
            Kind.TABLE,
            no_value="none reported",
        ),
        row("Agents"),
        Panel(
            "Agents",
            "Whether the agent of each node answers Prometheus, or the hub that writes to it.",
            "bool",
            (("up{@node}", "{{instance}}"),),
            Kind.TIMELINE,
        ),
        Panel(
            "Collectors",
            "Whether all collectors of a node succeeded in their last cycle.",
            "bool",
            (("min by (instance) (accel_collector_up{@node})", "{{instance}}"),),
            Kind.TIMELINE,
        ),
    ),
    span="24h",
)
