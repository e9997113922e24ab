"""How each form of the language is said in PromQL, what is told beside, and why some cannot be said.

That the forms mean the same is shown by promtool (test_prometheus_export.py); here are those that differ
in a word, a matcher or a bound from one that is shown there.
"""

import pytest

from accelwatch.expr.promql import Assumed, PromqlError, condition
from accelwatch.expr.rule import compile_rule

INFO = "max without (kind, model, architecture, pci_bus_id, numa_node, parent) "
JOB = "max without (partition, scheduler, job_id, user, account, queue, job_name) "
POD = "max without (partition, namespace, pod, container, pod_uid, resource) "
LAST = "max without (code, category) (accel_error_event_last_timestamp_seconds{"
DOWN = "accel_device_up == 0 unless accel_device_suspended == 1 and ignoring (device, uuid) "
COUNTED = "sum without (state) (accel_devices"


def translated(
    when: str, scope: str = "device", scrape_s: float = 60.0
) -> tuple[str, tuple[str, ...]]:
    """The query in one line, and what is told beside."""
    remarks = condition(scope, None, [(when, compile_rule(when).tree)], Assumed(scrape_s=scrape_s))
    return " ".join(remarks.text.split()), tuple(remarks.notes)


@pytest.mark.parametrize(
    ("when", "query"),
    [
        ('matches(model, "H1.0")', INFO + '(accel_device_info{model=~".*(?:H1.0).*"})'),
        (
            'matches(model, "h1.0", ignore_case=True)',
            INFO + '(accel_device_info{model=~".*(?:(?i)h1.0).*"})',
        ),
        (
            'not matches(model, "x")',
            INFO + '(accel_device_info{model!~".*(?:x).*",model!=""})',
        ),
        ('"H1.0" in model', INFO + '(accel_device_info{model=~".*(?:H1\\\\.0).*"})'),
        ('"H" not in model', INFO + '(accel_device_info{model!~".*(?:H).*",model!=""})'),
        ('model in ("a.b", "c", "c")', INFO + '(accel_device_info{model=~"a\\\\.b|c"})'),
        ('model not in ("a", "b")', INFO + '(accel_device_info{model!~"a|b",model!=""})'),
        ('"a" == model', INFO + '(accel_device_info{model="a"})'),
        ('model != "a"', INFO + '(accel_device_info{model!="a",model!=""})'),
        ("model == 'a\"b'", INFO + '(accel_device_info{model="a\\"b"})'),
        ('uuid == "GPU-1"', 'accel_device_up{uuid="GPU-1"}'),
        ('node == "n1"', 'accel_device_up{instance="n1"}'),
        ("missing(uuid)", 'accel_device_up{uuid=""}'),
        ("present(uuid)", 'accel_device_up{uuid!=""}'),
        (
            "missing(job)",
            f'accel_device_up unless {JOB}(accel_job_allocation_info{{partition="",job_id!=""}})',
        ),
        ("present(health)", "accel_device_up"),
        ("present(state)", "accel_device_up"),
        (
            'namespace != "x"',
            POD + '(accel_kubernetes_allocation_info{partition="",namespace!="x",namespace!=""})',
        ),
        (
            'driver_version == "5"',
            "accel_device_up and ignoring (device, uuid, component, version)"
            ' accel_driver_info{component="driver",version="5"}',
        ),
        ("sample_age_s > 30", "time() - accel_device_last_read_timestamp_seconds > 30"),
        (
            "device_suspended > 0",
            "(accel_device_suspended or accel_device_up * 0) > 0",
        ),
        ('state == "lost"', f'{DOWN}{COUNTED}{{state="lost"}}) > 0'),
        (
            'state == "unresponsive"',
            f'{DOWN}{COUNTED}{{state="unresponsive"}}) > 0'
            f' unless ignoring (device, uuid) {COUNTED}{{state=~"lost|excluded"}}) > 0',
        ),
        (
            'state == "excluded"',
            f'{DOWN}{COUNTED}{{state="excluded"}}) > 0'
            f' unless ignoring (device, uuid) {COUNTED}{{state=~"lost|unresponsive"}}) > 0',
        ),
        ('state == "suspended"', "accel_device_suspended == 1"),
        ('health == "failed"', 'max without (state) (accel_health{state="failed"} == 1)'),
    ],
)
def test_texts_states_and_ages(when: str, query: str) -> None:
    assert translated(when)[0] == query


@pytest.mark.parametrize(
    ("when", "query"),
    [
        (
            "power_watts / memory_used_bytes > 1",
            "accel_power_watts / (accel_memory_used_bytes != 0) > 1",
        ),
        ("power_watts / 2 > 1", "accel_power_watts / 2 > 1"),
        ("power_watts // 2 > 1", "floor(accel_power_watts / 2) > 1"),
        ("power_watts % 7 == 1", "accel_power_watts - floor(accel_power_watts / 7) * 7 == 1"),
        ("min(power_watts, 5) > 2", "clamp_max(accel_power_watts, 5) > 2"),
        ("max(5, power_watts) > 2", "clamp_min(accel_power_watts, 5) > 2"),
        (
            "max(power_watts, memory_used_bytes) > 2",
            "( accel_power_watts >= accel_memory_used_bytes"
            " or accel_memory_used_bytes >= accel_power_watts ) > 2",
        ),
        ("abs(power_watts) > abs(-3)", "abs(accel_power_watts) > 3"),
        ("GiB(2) < memory_used_bytes", "2147483648 < accel_memory_used_bytes"),
        ("power_watts > 7 // 2", "accel_power_watts > 3"),
        ("power_watts > 7 % 4", "accel_power_watts > 3"),
        ("power_watts > 7 / 2", "accel_power_watts > 3.5"),
        ("power_watts > 2 * 3 - 1 + 2", "accel_power_watts > 7"),
        ("power_watts > max(1, 2)", "accel_power_watts > 2"),
        ("not power_watts > 5", "accel_power_watts <= 5"),
        ("1 < power_watts < 5", "1 < accel_power_watts and accel_power_watts < 5"),
        (
            'quantile(power_watts, 0.9, "10m") > 1',
            "( quantile_over_time(0.9, accel_power_watts[10m])"
            " and count_over_time(accel_power_watts[10m]) >= 5 ) > 1",
        ),
        ('avg(power_watts, "1m") > 1', "avg_over_time(accel_power_watts[1m]) > 1"),
        (
            'delta(power_watts, "2m") > 1',
            "delta(accel_power_watts[2m]) > 1",
        ),
        (
            'changed(power_watts, "4m")',
            "(changes(accel_power_watts[4m]) and count_over_time(accel_power_watts[4m]) >= 2) > 0",
        ),
        (
            'link_up.nvlink["0"] == 0',
            'max without (fabric, link) (accel_link_up{fabric="nvlink",link="0"}) == 0',
        ),
    ],
)
def test_numbers_and_windows(when: str, query: str) -> None:
    assert translated(when)[0] == query


@pytest.mark.parametrize(
    ("when", "matchers"),
    [
        ('event("xid", code == 48)', 'code="xid_48"'),
        ('event("xid", code in (48, 79))', 'code=~"xid_48|xid_79"'),
        ('event("xid", code != 48)', 'code=~"(xid)(_.*)?",code!="xid_48"'),
        ('event("xid", code not in (48, 79))', 'code=~"(xid)(_.*)?",code!~"xid_48|xid_79"'),
        ('event("ras")', 'code=~"(ras)(_.*)?"'),
        ('event("xid", category == "bus" and code == 79)', 'code="xid_79",category="bus"'),
        ('event("xid", category in ("hang", "bus"))', 'code=~"(xid)(_.*)?",category=~"bus|hang"'),
        ('event("xid", category == "bus" and trusted)', 'code=~"(xid)(_.*)?",category="bus"'),
    ],
)
def test_events(when: str, matchers: str) -> None:
    query, notes = translated(when)
    assert query == f"{LAST}{matchers}}}) >= time() - 600"
    assert notes == (
        "events that name no device are not exposed, and no more than 32 codes a device",
    )


def test_an_event_that_only_a_boot_ends() -> None:
    last = f'{LAST}code="xid_151"}})'
    uptime = (
        "accel_device_up * 0 + ignoring (vendor, device, uuid) group_left ()"
        " accel_host_uptime_seconds"
    )
    assert translated('event("xid", code == 151, until="boot")')[0] == (
        f"{last} > time() - ( {uptime} ) - 5 and {last} >= time() - 2592000"
        f" or {last} >= time() - 600 unless {uptime}"
    )


@pytest.mark.parametrize(
    ("when", "query"),
    [
        ('since("boot") < 600', "{uptime} < 600"),
        ('last("boot") > 5', "time() - ( {uptime} ) > 5"),
        ('event("boot", within="1h")', "{uptime} <= 3600"),
    ],
)
def test_a_boot_is_the_uptime(when: str, query: str) -> None:
    uptime = (
        "accel_device_up * 0 + ignoring (vendor, device, uuid) group_left ()"
        " accel_host_uptime_seconds"
    )
    assert translated(when)[0] == query.format(uptime=uptime)


def test_events_are_counted_from_when_their_counter_started() -> None:
    query, notes = translated('count("xid", code == 48, within="1h") > 3')
    total = 'accel_error_events_total{code="xid_48"}'
    last = 'accel_error_event_last_timestamp_seconds{code="xid_48"}'
    assert query == (
        "( sum without (code, category) ( "
        f"( {total} unless {total} offset 1h or increase({total}[1h]) )"
        f" and {last} >= time() - 3600 )"
        " or accel_device_up * 0 ) > 3"
    )
    assert "increase() of PromQL extrapolates to the ends of the window" in notes


@pytest.mark.parametrize(
    ("scope", "when", "query"),
    [
        ("node", 'node == "a"', 'accel_exporter_series{instance="a"}'),
        ("node", "missing(node)", 'accel_exporter_series{instance=""}'),
        ("rack", 'labels.rack == "r"', 'group by (rack) (accel_device_up{rack!="",rack="r"})'),
        (
            "job",
            'user == "u"',
            'group by (scheduler, job_id) (accel_job_allocation_info{partition="",user="u"})',
        ),
        (
            "job",
            "missing(user)",
            'group by (scheduler, job_id) (accel_job_allocation_info{partition=""})'
            " unless group by (scheduler, job_id)"
            ' (accel_job_allocation_info{partition="",user!=""})',
        ),
    ],
)
def test_texts_of_what_is_no_device(scope: str, when: str, query: str) -> None:
    assert translated(when, scope)[0] == query


@pytest.mark.parametrize(
    ("scope", "when", "reason"),
    [
        ("device", 'model == ""', "an empty text is not a label in Prometheus"),
        ("device", "power_watts / 0 > 2", "a division by zero"),
        ("device", "power_watts > 2 / 0", "a division by zero"),
        ("device", "power_watts > 2 // 0", "a division by zero"),
        ("device", "power_watts > 1e308 * 10", "a number that is not finite"),
        ("device", '"x" in state', "a pattern on state"),
        ("device", 'state == "missing"', "that a device is missing is known to a hub, not to its agent"),
        (
            "device",
            'state == "stale"',
            "that a node does not answer is known to a hub; in Prometheus, up is 0",
        ),
        ("device", 'state == "ok"', "agents do not expose the state ok"),
        ("device", "model == serial", "a comparison of two texts cannot be expressed in PromQL"),
        ("device", 'labels["ä"] == "x"', "'ä' cannot be a label in Prometheus"),
        ("device", 'labels["1a"] == "x"', "'1a' cannot be a label in Prometheus"),
        ("node", "sample_age_s > 5", "agents do not expose sample_age_s as a number"),
        ("node", 'model == "x"', "agents do not expose model of a node"),
        ("node", 'state == "lost"', "agents do not expose state of a node"),
        ("node", 'event("xid")', "agents do not expose events of a node"),
        ("job", 'pod == "x"', "agents do not expose pod of a job"),
        (
            "device",
            'avg(power_watts, "30s") > 5',
            "a window of 30s is too short where each target is scraped every 1m",
        ),
        (
            "device",
            'rate(energy_joules_total, "1m") > 5',
            "a window of 1m is too short where each target is scraped every 1m",
        ),
    ],
)  # fmt: skip
def test_why_something_cannot_be_expressed(scope: str, when: str, reason: str) -> None:
    with pytest.raises(PromqlError) as refused:
        translated(when, scope)
    assert str(refused.value) == reason


def test_what_is_exported_beside_a_state() -> None:
    _, notes = translated('state in ("lost", "missing")')
    assert notes == (
        "that a device is missing is known to a hub, not to its agent",
        "where devices of a vendor on a node are down for several reasons, all count as lost",
    )


@pytest.mark.parametrize(
    ("scope", "when", "query"),
    [
        (
            "device",
            "node.any(power_watts > 5)",
            "accel_device_up and ignoring (vendor, device, uuid)"
            " count without (vendor, device, uuid) (accel_power_watts > 5)",
        ),
        (
            "device",
            "host_load_average[5] > 2",
            "accel_device_up * 0 + ignoring (vendor, device, uuid) group_left ()"
            ' max without (window) (accel_host_load_average{window="5"}) > 2',
        ),
        (
            "device",
            "rack.any(power_watts > 5)",
            "accel_device_up and on (rack)"
            ' count by (rack) (accel_power_watts{rack!=""} > 5)',
        ),
        ("rack", "rack.any(power_watts > 5)", 'count by (rack) (accel_power_watts{rack!=""} > 5)'),
        (
            "device",
            "rack.count() > 2",
            "accel_device_up * 0 + on (rack) group_left ()"
            ' count by (rack) (accel_device_up{rack!=""}) > 2',
        ),
    ],
)  # fmt: skip
def test_groups_as_they_are_seen_by_who_asks(scope: str, when: str, query: str) -> None:
    assert translated(when, scope)[0] == query


def test_what_is_exported_beside_a_job() -> None:
    assert translated("job.count(power_watts > 5) > 2")[1] == (
        "a device has the job that its agent reports (accel_job_allocation_info)",
    )


def test_who_is_no_device_asks_its_own_group_only() -> None:
    with pytest.raises(PromqlError, match="^a job cannot be grouped by node$"):
        translated("node.any(power_watts > 5)", "job")
