"""The node and device board: everything about a few devices."""

from model import INSTANCE, JOB, Board, Kind, Panel, Variable, row

DEVICE = Variable(
    "device",
    "Device",
    'label_values(accel_device_up{job=~"$job", instance=~"$instance"}, device)',
)

BOARD = Board(
    "node-device",
    "Node and device",
    "Everything about the chosen devices.",
    (JOB, INSTANCE, DEVICE),
    (
        row("Use"),
        Panel(
            "Utilization",
            "Mean busy ratio between scrapes, and the highest sample within the agent's window.",
            "percentunit",
            (
                ("rate(accel_busy_seconds_total{@device}[$__rate_interval])", "{{device}}"),
                ("accel_window_utilization_max_ratio{@device}", "{{device}} max"),
            ),
        ),
        Panel(
            "What is busy",
            "Share of compute units with work, of matrix units active, of memory bandwidth used. "
            "High utilization with low values here is a device that waits.",
            "percentunit",
            (
                ("accel_compute_active_ratio{@device}", "{{device}} compute"),
                ("accel_matrix_active_ratio{@device}", "{{device}} matrix"),
                ("accel_memory_bandwidth_utilization_ratio{@device}", "{{device}} bandwidth"),
            ),
        ),
        Panel(
            "Memory",
            "Device memory in use, its highest sample within the agent's window, and capacity.",
            "bytes",
            (
                ("accel_memory_used_bytes{@device}", "{{device}}"),
                ("accel_window_memory_used_max_bytes{@device}", "{{device}} max"),
                ("accel_memory_size_bytes{@device}", "{{device}} limit"),
            ),
        ),
        Panel(
            "Processes",
            "Processes that hold a context on the device, by type.",
            "short",
            (("accel_processes{@device}", "{{device}} {{type}}"),),
        ),
        row("Power, heat, clocks"),
        Panel(
            "Power",
            "Mean power from the energy counter, highest sample in the window, limit in force.",
            "watt",
            (
                (
                    "sum without (source)"
                    " (rate(accel_energy_joules_total{@device}[$__rate_interval]))",
                    "{{device}}",
                ),
                ("accel_window_power_max_watts{@device}", "{{device}} max"),
                ('accel_power_limit_watts{@device, limit="enforced"}', "{{device}} limit"),
            ),
        ),
        Panel(
            "Temperature",
            "Temperature by sensor, and the limit at which the device slows itself down; of a device "
            "that tells only its distance to that, temperature and distance together.",
            "celsius",
            (
                ("accel_temperature_celsius{@device}", "{{device}} {{sensor}}"),
                (
                    'accel_temperature_limit_celsius{@device, limit="slowdown"}',
                    "{{device}} {{sensor}} limit",
                ),
                (
                    'accel_temperature_celsius{@device, sensor="gpu"}'
                    " + ignoring (sensor) accel_temperature_headroom_celsius{@device}",
                    "{{device}} gpu limit",
                ),
            ),
        ),
        Panel(
            "Clocks",
            "Current clock by domain.",
            "hertz",
            (("accel_clock_hertz{@device}", "{{device}} {{domain}}"),),
        ),
        Panel(
            "Throttled",
            "Share of time at reduced clocks, by reason. Idle is not a reason.",
            "percentunit",
            (
                (
                    "rate(accel_throttle_seconds_total{@device}[$__rate_interval])",
                    "{{device}} {{reason}}",
                ),
            ),
        ),
        row("Links"),
        Panel(
            "PCIe traffic",
            "Bytes per second by direction, seen from the device.",
            "Bps",
            (
                (
                    "rate(accel_pcie_bytes_total{@device}[$__rate_interval])",
                    "{{device}} {{direction}}",
                ),
            ),
        ),
        Panel(
            "PCIe lanes",
            "Lanes in use and lanes supported. Idle devices may drop lanes to save power.",
            "short",
            (
                ('accel_pcie_link_width_lanes{@device, state="current"}', "{{device}}"),
                ('accel_pcie_link_width_lanes{@device, state="max"}', "{{device}} max"),
            ),
        ),
        Panel(
            "Interconnect traffic",
            "Bytes per second between devices, all links of a device together.",
            "Bps",
            (
                (
                    "rate(accel_interconnect_bytes_total{@device}[$__rate_interval])",
                    "{{device}} {{fabric}} {{direction}}",
                ),
            ),
        ),
        Panel(
            "Link errors",
            "New errors on PCIe and on links between devices.",
            "short",
            (
                (
                    "increase(accel_pcie_errors_total{@device}[$__rate_interval])",
                    "{{device}} pcie {{type}}",
                ),
                (
                    "increase(accel_interconnect_errors_total{@device}[$__rate_interval])",
                    "{{device}} {{fabric}} {{type}}",
                ),
                (
                    'accel_interconnect_links{@device, state="down"}',
                    "{{device}} {{fabric}} links down",
                ),
            ),
        ),
        row("Health"),
        Panel(
            "Health state",
            "The state each device is in.",
            "short",
            (("accel_health{@device} == 1", ""),),
            Kind.TABLE,
        ),
        Panel(
            "Memory errors",
            "New ECC errors by severity.",
            "short",
            (
                (
                    "increase(accel_ecc_errors_total{@device}[$__rate_interval])",
                    "{{device}} {{severity}}",
                ),
            ),
        ),
        Panel(
            "Memory repairs",
            "Retired pages and remapped rows over the life of the device, and whether a repair "
            "waits for a reset or has failed.",
            "short",
            (
                ("accel_memory_retired_pages{@device}", "{{device}} pages {{cause}}"),
                ("accel_memory_remapped_rows{@device}", "{{device}} rows {{cause}}"),
                ("accel_memory_repair_pending{@device}", "{{device}} pending"),
                ("accel_memory_repair_failed{@device}", "{{device}} failed"),
            ),
        ),
        Panel(
            "Age of the last event",
            "Time since the last vendor error event of each code.",
            "s",
            (("time() - accel_error_event_last_timestamp_seconds{@device}", ""),),
            Kind.TABLE,
            no_value="no event reported",
        ),
    ),
    per_device=True,
)
