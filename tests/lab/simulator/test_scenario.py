from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.system.located_yaml.document import parse
from accelwatch_lab.simulator.scenario import Scenario, everyday
from accelwatch_lab.simulator.scenario_file import check, read_scenario

NAMES = tuple(f"n{number:03d}" for number in range(1, 17))


def checked(text: str) -> Scenario:
    return check(parse(text.encode(), "day.yaml"), NAMES, 8, list(NAMES))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "day.yaml:1: no scenario"),
        ("- 1", "day.yaml:1: no scenario"),
        ("scenario: 2", "day.yaml:1: scenario: this version reads format 1"),
        ("scenario: 1\nnoise: loud", "day.yaml:2: noise: Expected `float`"),
        ("scenario: 1\nnoise: -1", "day.yaml:2: noise: -1 is not between 0 and 5"),
        ("scenario: 1\nfault: []", "day.yaml:2: fault: unknown key; did you mean faults?"),
        ("scenario: 1\nscenario: 1", "day.yaml:2: scenario: given twice"),
        ("scenario: [", "day.yaml:1: bad YAML"),
        ("scenario: 1\nfaults:\n- {nodes: n001}", "day.yaml:3: faults[0].kind: is missing"),
        (
            "scenario: 1\nfaults:\n- nodes: n001\n  kind: explode",
            "day.yaml:4: faults[0].kind: Invalid enum value 'explode'",
        ),
        (
            "scenario: 1\nfaults:\n- kind: lost\n  nodes: n099",
            "day.yaml:4: faults[0].nodes: no node 'n099'; there are n001 to n016",
        ),
        (
            "scenario: 1\nfaults:\n- kind: lost\n  nodes: n[3-1]",
            "day.yaml:4: faults[0].nodes: 'n[3-1]': '3-1' runs backwards",
        ),
        (
            "scenario: 1\nfaults:\n- kind: lost\n  nodes: 0%",
            "day.yaml:4: faults[0].nodes: '0%' is not a valid share",
        ),
        (
            "scenario: 1\nfaults:\n- kind: lost\n  nodes: n001\n  device: 8",
            "day.yaml:5: faults[0].device: no device 8; there are 0 to 7",
        ),
        (
            "scenario: 1\nfaults:\n- {kind: garbage, nodes: n001, device: 1}",
            "day.yaml:3: faults[0].device: garbage affects the whole node",
        ),
        (
            "scenario: 1\nfaults:\n- {kind: lost, nodes: n001, at: 2m, back: 1m}",
            "day.yaml:3: faults[0].back: back must be after at",
        ),
        (
            "scenario: 1\nfaults:\n- {kind: lost, nodes: n001, at: soon}",
            "day.yaml:3: faults[0].at: 'soon' is not a valid duration",
        ),
        (
            "scenario: 1\nfaults:\n- {kind: lost, nodes: n001, back: 2m, every: 1m}",
            "faults[0].every: a fault that comes again must be back before that",
        ),
        (
            "scenario: 1\njobs:\n- {name: a, nodes: '*'}\n- {name: b, nodes: n002}",
            "day.yaml:4: jobs[1].nodes: n002 belongs to a already",
        ),
        (
            "scenario: 1\njobs:\n- {name: a, nodes: n001}\n- {name: a, nodes: n002}",
            "day.yaml:4: jobs[1].name: there is a job 'a' already",
        ),
        (
            "scenario: 1\njobs:\n- {name: a, nodes: '*', step: 0}",
            "day.yaml:3: jobs[0].step: a step takes time",
        ),
        (
            "scenario: 1\njobs:\n- {name: a, nodes: '*', checkpoint: {evry: 1m}}",
            "day.yaml:3: jobs[0].checkpoint.evry: unknown key; did you mean every?",
        ),
        (
            "scenario: 1\njobs:\n- name: a\n  nodes: '*'\n  stalls:\n"
            "  - {at: 1m, lasts: 1m}\n  - {at: 90s, lasts: 1m}",
            "day.yaml:5: jobs[0].stalls: stalls must be in order",
        ),
        (
            "scenario: 1\nfaults:\n- {kind: crash, nodes: n001}",
            "day.yaml:3: faults[0].kind: crash befalls a call of a backend; a replay plays",
        ),
        (
            "scenario: 1\nfaults:\n- {kind: ecc, nodes: n001, severity: bad}",
            "faults[0].severity: 'bad' is neither corrected nor uncorrected",
        ),
        (
            "scenario: 1\nfaults:\n- {kind: absent, nodes: n001, quantity: power_watts, reason: shy}",
            "faults[0].reason: 'shy' is not a valid absence; expected one of error, lost",
        ),
        (
            "scenario: 1\nfaults:\n- {kind: event, nodes: n001}",
            "faults[0].code: an event needs a code, such as xid_79",
        ),
        ("scenario: 1\njobs:\n- {name: a, nodes: '*', load: 2}", "load: 2 is not between 0 and 1"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_key(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        checked(text)
    assert message in str(refused.value)


def test_one_run_names_every_mistake_from_the_top() -> None:
    with pytest.raises(ConfigError) as caught:
        checked(
            "scenario: 1\nnoise: -1\njobs:\n- {name: a, nodes: n099, step: 0}\n- {nodes: n001}\n"
            "faults:\n- {kind: lost, nodes: '*', bak: 1m, at: soon}\n- {kind: explode, nodes: n001}"
        )
    assert str(caught.value).splitlines() == [
        "day.yaml:2: noise: -1 is not between 0 and 5",
        "day.yaml:4: jobs[0].step: a step takes time",
        "day.yaml:4: jobs[0].nodes: no node 'n099'; there are n001 to n016",
        "day.yaml:5: jobs[1].name: is missing",
        "day.yaml:7: faults[0].bak: unknown key; did you mean back?",
        "day.yaml:7: faults[0].at: 'soon' is not a valid duration; write 2, 2s, 500ms or 5m",
        "day.yaml:8: faults[1].kind: Invalid enum value 'explode'; one of lost, gone, hang, error, "
        "permission, suspended, event, absent, throttle, straggler, ecc, link_down, link_errors, "
        "remap, slow, crash, node_down, node_hung, slow_loris, garbage, clock_skew, reboot, "
        "nfs_stall",
    ]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="absent.yaml: cannot be read"):
        read_scenario(tmp_path / "absent.yaml", NAMES, 8, list(NAMES))


def test_a_node_may_have_jobs_in_turn(tmp_path: Path) -> None:
    file = tmp_path / "day.yaml"
    file.write_text(
        "scenario: 1\njobs:\n- {name: a, nodes: '*', lasts: 5m, loading: 1m}\n"
        "- {name: b, nodes: n002, at: 5m}\n"
    )
    names = ("n001", "n002")
    first, second = read_scenario(file, names, 8, list(names)).jobs
    assert (first.lasts_s, first.loading_s, second.at_s) == (300.0, 60.0, 300.0)


def test_ranges_name_nodes_once() -> None:
    scenario = checked("scenario: 1\nfaults:\n- {kind: lost, nodes: 'n[001-003,002], n016'}")
    assert scenario.faults[0].nodes == ("n001", "n002", "n003", "n016")


def test_without_a_file_there_are_jobs_and_no_faults() -> None:
    scenario = everyday(NAMES)
    assert scenario.faults == ()
    held = [name for job in scenario.jobs for name in job.nodes]
    assert len(held) == len(set(held)) == 15


def test_a_fleet_of_one_has_a_job() -> None:
    assert [job.nodes for job in everyday(("n001",)).jobs] == [("n001",)]


@pytest.mark.parametrize(
    ("older", "today"),
    [
        ("kind: hung", "kind: hang"),
        ("kind: xid", "kind: event, code: xid_79"),
        ("kind: xid, code: 31", "kind: event, code: xid_31"),
    ],
)
def test_words_of_earlier_versions_mean_what_they_meant(older: str, today: str) -> None:
    def fault_of(words: str) -> tuple[str, str, str]:
        spec = checked(f"scenario: 1\nfaults:\n- {{{words}, nodes: n001}}").faults[0].spec
        return spec.kind, spec.event_code, spec.event_category

    assert fault_of(older) == fault_of(today)


def test_a_given_category_counts_before_nvidia_s_own() -> None:
    fault = "scenario: 1\nfaults:\n- {{kind: event, nodes: n001, code: {}}}"
    assert checked(fault.format("xid_79")).faults[0].spec.event_category == "bus"
    assert checked(fault.format("amd_1")).faults[0].spec.event_category == "other"
    given = checked(fault.format("xid_79, category: power")).faults[0].spec
    assert given.event_category == "power"


def test_numbers_as_ids_and_codes_need_no_quotes() -> None:
    job = "jobs: [{name: train, id: 4711, nodes: n001}]"
    fault = "faults: [{kind: xid, nodes: n001, device: 0, code: 79}]"
    found = checked(f"scenario: 1\n{job}\n{fault}")
    assert found.jobs[0].id == "4711"
    assert found.faults[0].spec.event_code == "xid_79"
