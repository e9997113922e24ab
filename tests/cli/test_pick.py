"""Picking fails closed: whatever is not known to be healthy and free is not given to a job."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import UnmetError
from accelwatch.cli.node.pick import text_of
from accelwatch.expr import compile_condition, device_names
from accelwatch.node.query import picking
from accelwatch.node.query.picking import Criteria, Pick
from accelwatch.node.query.visibility import Declared
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.values.free_memory import free_memory
from support.machines.composed import GIB, device, lost_view, mig_view, view
from support.machines.nvml_stand_ins import NvmlScenario
from support.machines.packed_trees import FakeTree
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch


def pick(views: Sequence[DeviceView], criteria: Criteria) -> Pick:
    """The choice by what the installed backends declare."""
    return picking.pick(views, criteria, Declared())


def free(index: int, gib: int = 70, **changes: object) -> DeviceView:
    """An idle device with so much free memory."""
    values: dict[Series, Number] = {
        ("memory_size_bytes",): 80 * GIB,
        ("memory_used_bytes",): (80 - gib) * GIB,
        ("utilization_ratio",): 0.0,
    }
    reading = Reading(device_id=device(index).id, values=values, processes=())
    return msgspec.structs.replace(view(index), reading=reading, **changes)


def test_the_devices_with_most_free_memory_come_first() -> None:
    chosen = pick([free(0, 10), free(1, 60), free(2, 40)], Criteria(count=2))
    assert [one.device.index for one in chosen.views] == [1, 2]
    assert chosen.variable == "CUDA_VISIBLE_DEVICES"
    assert chosen.value == f"{device(1).uuid},{device(2).uuid}"


@pytest.mark.parametrize(
    ("unwell", "reason"),
    [
        (lost_view(0), "is lost"),
        (free(0, state=DeviceState.UNRESPONSIVE), "is unresponsive"),
        (free(0, state=DeviceState.SUSPENDED), "is suspended"),
        (free(0, health=Health.FAILED, health_reasons=("asks for a reset",)), "asks for a reset"),
        (free(0, health=Health.DEGRADED), "health is degraded"),
        (free(0, health=Health.UNKNOWN), "health is unknown"),
        (free(0, device=device(0, uuid=None)), "has no uuid"),
        (free(0, device=device(0, vendor="other")), "no visibility variable is known for other"),
    ],
)
def test_what_is_not_well_never_qualifies(unwell: DeviceView, reason: str) -> None:
    with pytest.raises(UnmetError, match=reason):
        pick([unwell], Criteria())


@pytest.mark.parametrize(
    ("criteria", "reason"),
    [
        (Criteria(free_memory_bytes=GIB), "free memory is unknown"),
        (Criteria(max_utilization_ratio=0.5), "utilization is unknown"),
        (Criteria(unused=True), "its processes are unknown"),
        (
            Criteria(condition=compile_condition("power_watts < 100", device_names())),
            "the filter is unknown",
        ),
    ],
)
def test_what_is_not_known_never_qualifies(criteria: Criteria, reason: str) -> None:
    silent = Reading(device_id="x", absent={("*",): Absence.ERROR})
    with pytest.raises(UnmetError, match=reason):
        pick([msgspec.structs.replace(view(0), reading=silent)], criteria)


def test_limits_are_held() -> None:
    with pytest.raises(UnmetError, match=r"5.0 GiB free, 10.0 GiB requested"):
        pick([free(0, 5)], Criteria(free_memory_bytes=10 * GIB))
    with pytest.raises(UnmetError, match=r"utilization is 0\.97"):
        pick([view(0)], Criteria(max_utilization_ratio=0.5))
    with pytest.raises(UnmetError, match="2 processes use it"):
        pick([view(0)], Criteria(unused=True))


def test_devices_of_two_vendors_are_never_mixed() -> None:
    amd = free(1, device=device(1, vendor="amd", uuid="GPU-a"))
    with pytest.raises(UnmetError, match="2 requested, 1 of one vendor qualify"):
        pick([free(0), amd], Criteria(count=2))


def reasons_of(views: Sequence[DeviceView], criteria: Criteria) -> str:
    """All that is said where the wish is not met."""
    with pytest.raises(UnmetError) as refused:
        pick(views, criteria)
    return str(refused.value)


def test_every_device_is_reported_with_its_reason() -> None:
    unwell = free(1, health=Health.DEGRADED, health_reasons=("one thing", "another"))
    nameless = free(3, device=device(3, uuid=None))
    assert reasons_of(
        [free(0, 5), unwell, free(2, health=Health.UNKNOWN), nameless],
        Criteria(free_memory_bytes=GIB * 6),
    ) == (
        "1 requested, 0 of one vendor qualify"
        "\n  nvidia0: 5.0 GiB free, 6.0 GiB requested"
        "\n  nvidia1: health is degraded: one thing; another"
        "\n  nvidia2: health is unknown: no reason given"
        "\n  nvidia3: has no uuid by which a job could be given it"
    )
    assert (
        reasons_of([], Criteria(count=2))
        == "2 requested, no device found; `accelwatch doctor` says why"
    )


def test_what_is_unknown_is_reported_in_words() -> None:
    silent = [msgspec.structs.replace(free(0), reading=Reading(device_id="x"))]
    prefix = "1 requested, 0 of one vendor qualify\n  nvidia0: "
    assert reasons_of(silent, Criteria(free_memory_bytes=1)) == f"{prefix}free memory is unknown"
    assert (
        reasons_of(silent, Criteria(max_utilization_ratio=1.0)) == f"{prefix}utilization is unknown"
    )
    assert reasons_of(silent, Criteria(unused=True)) == f"{prefix}its processes are unknown"


def test_a_filter_lets_through_what_it_is_true_of_and_nothing_else() -> None:
    criteria = Criteria(condition=compile_condition("utilization_ratio < 0.5", device_names()))
    assert [
        one.device.index for one in pick([loaded(0, 0.75), loaded(1, 0.25)], criteria).views
    ] == [1]
    prefix = "1 requested, 0 of one vendor qualify\n  nvidia0: "
    assert reasons_of([loaded(0, 0.5)], criteria) == f"{prefix}the filter is false"
    assert reasons_of([loaded(0, None)], criteria) == f"{prefix}the filter is unknown"


def test_a_device_as_busy_as_allowed_qualifies() -> None:
    assert pick([loaded(0, 0.5)], Criteria(max_utilization_ratio=0.5)).views


def test_a_wish_for_a_vendor_is_met_by_its_devices_alone() -> None:
    amd = free(1, 10, device=device(1, vendor="amd", uuid="GPU-1"))
    assert pick([free(0), amd], Criteria(vendor="amd")).views == (amd,)
    assert reasons_of([free(0)], Criteria(vendor="amd")).endswith("\n  nvidia0: is of nvidia")


def test_an_instance_of_a_device_that_is_not_cut_is_not_given() -> None:
    """A driver may list instances for a moment after a device was made whole again."""
    assert pick([free(0), mig_view(1, 0)], Criteria()).views == (free(0),)
    assert reasons_of([free(0), mig_view(1, 0)], Criteria(count=2)).startswith(
        "2 requested, 1 of one vendor"
    )


@pytest.mark.parametrize("given", ["memory_size_bytes", "memory_used_bytes"])
def test_size_alone_or_use_alone_makes_no_free_memory(given: str) -> None:
    assert free_memory(Reading(device_id="x", values={(given,): GIB})) is None
    assert free_memory(free(0, 10).reading) == 10 * GIB


def loaded(index: int, ratio: float | None) -> DeviceView:
    """A device with 70 GiB free that is so busy."""
    idle = free(index)
    values = {
        key: number for key, number in idle.reading.values.items() if key[0] != "utilization_ratio"
    }
    if ratio is not None:
        values["utilization_ratio",] = ratio
    return msgspec.structs.replace(idle, reading=Reading(device_id=idle.device.id, values=values))


@pytest.mark.parametrize(
    ("views", "order"),
    [
        ([loaded(0, 0.5), loaded(1, 0.25), loaded(2, 0.75)], [1, 0, 2]),
        ([loaded(0, None), loaded(1, 0.75)], [1, 0]),
        ([loaded(1, 1.0), loaded(0, None)], [0, 1]),
        ([loaded(2, 0.5), loaded(0, 0.5), loaded(1, 0.5)], [0, 1, 2]),
    ],
)
def test_of_equally_free_devices_the_idlest_comes_first_and_then_the_lowest_number(
    views: list[DeviceView], order: list[int]
) -> None:
    """What is not known counts as fully busy."""
    chosen = pick(views, Criteria(count=len(views)))
    assert [one.device.index for one in chosen.views] == order


def test_devices_whose_memory_is_not_known_come_last() -> None:
    unknown = msgspec.structs.replace(free(0), reading=Reading(device_id="x", values={}))
    assert [one.device.index for one in pick([unknown, free(1, 1)], Criteria(count=2)).views] == [
        1,
        0,
    ]


def test_memory_that_is_not_known_is_no_better_than_none() -> None:
    full = free(1, 0)
    unknown = msgspec.structs.replace(
        free(0), reading=Reading(device_id="x", values={("utilization_ratio",): 0.5})
    )
    assert [one.device.index for one in pick([unknown, full], Criteria(count=2)).views] == [1, 0]


def test_where_the_runtime_takes_numbers_devices_are_given_by_number() -> None:
    views = [free(n, device=device(n, vendor="intel", uuid="anything; at all")) for n in (3, 1)]
    chosen = pick(views, Criteria(count=2))
    assert (chosen.variable, chosen.value) == ("ZE_AFFINITY_MASK", "1,3")


def test_a_device_cut_into_instances_is_given_by_instance() -> None:
    parent = free(0, device=device(0, partition_mode="enabled"))
    assert pick([parent, mig_view(1, 0)], Criteria()).value == "MIG-1"


def test_free_memory_is_what_neither_processes_nor_the_driver_have() -> None:
    values: dict[Series, Number] = {
        ("memory_size_bytes",): 80 * GIB,
        ("memory_used_bytes",): 60 * GIB,
        ("memory_reserved_bytes",): 2 * GIB,
    }
    reading = Reading(device_id="x", values=values)
    reserved = msgspec.structs.replace(view(0), reading=reading)
    assert free_memory(reserved.reading) == 18 * GIB
    assert pick([reserved], Criteria(free_memory_bytes=18 * GIB)).views == (reserved,)
    with pytest.raises(UnmetError, match=f"{18 * GIB} bytes free, {18 * GIB + 1} bytes requested"):
        pick([reserved], Criteria(free_memory_bytes=18 * GIB + 1))
    assert [one.device.index for one in pick([reserved, free(1, 19)], Criteria()).views] == [1]


def test_free_memory_is_never_less_than_nothing() -> None:
    values: dict[Series, Number] = {
        ("memory_size_bytes",): 80 * GIB,
        ("memory_used_bytes",): 79 * GIB,
        ("memory_reserved_bytes",): 2 * GIB,
    }
    reading = Reading(device_id="x", values=values)
    assert free_memory(reading) == 0


@pytest.mark.parametrize("turned", [False, True])
def test_the_vendor_with_most_fitting_devices_comes_first(turned: bool) -> None:
    amd = [free(n, 10, device=device(n, vendor="amd", uuid=f"GPU-{n}")) for n in (1, 2)]
    views = [free(0, 70), *amd]
    assert pick(views[::-1] if turned else views, Criteria()).variable == "ROCR_VISIBLE_DEVICES"


def test_the_vendor_of_the_first_device_comes_first_among_equals() -> None:
    amd = free(1, 70, device=device(1, vendor="amd", uuid="GPU-1"))
    assert pick([free(0, 10), amd], Criteria()).variable == "CUDA_VISIBLE_DEVICES"
    assert pick([amd, free(0, 10)], Criteria()).variable == "ROCR_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    "uuid",
    [
        "GPU-$(touch /tmp/ran)",
        "GPU-1;id",
        "GPU-1,GPU-2",
        "GPU-1 GPU-2",
        "GPU-1\n",
        "GPU-\x1b[31m",
        "GPU-`id`",
        "GPU-\N{FULLWIDTH DIGIT ONE}",
        "GPU-1/\N{FULLWIDTH DIGIT ONE}/1",
        "GPU-",
        "0",
        "",
    ],
)
@pytest.mark.parametrize("vendor", ["nvidia", "amd"])
def test_a_uuid_that_the_variable_cannot_hold_never_qualifies(vendor: str, uuid: str) -> None:
    strange = free(0, device=device(0, vendor=vendor, uuid=uuid))
    with pytest.raises(UnmetError, match="its uuid .* cannot be used in .*_VISIBLE_DEVICES") as why:
        pick([strange], Criteria())
    assert str(why.value).isprintable() or str(why.value).replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("vendor", "uuid"),
    [
        ("nvidia", "GPU-5ca1ab1e-0010-4000-8000-000000000000"),
        ("nvidia", "MIG-5ca1ab1e-0010-5000-8000-000000000000"),
        ("nvidia", "MIG-GPU-5ca1ab1e-0010-4000-8000-000000000000/7/0"),
        ("amd", "GPU-0a11223344556677"),
    ],
)
def test_the_forms_of_uuid_that_runtimes_take_qualify(vendor: str, uuid: str) -> None:
    assert pick([free(0, device=device(0, vendor=vendor, uuid=uuid))], Criteria()).value == uuid


def test_what_is_printed_for_eval_is_quoted() -> None:
    chosen = Pick((), "CUDA_VISIBLE_DEVICES", "$(id) 'x'")
    assert text_of(chosen, "export") == ("export CUDA_VISIBLE_DEVICES='$(id) '\"'\"'x'\"'\"''\n")
    plain = Pick((), "CUDA_VISIBLE_DEVICES", "GPU-5ca1ab1e-0010,GPU-1/2/0")
    assert text_of(plain, "export") == "export CUDA_VISIBLE_DEVICES=GPU-5ca1ab1e-0010,GPU-1/2/0\n"


@pytest.fixture
def node(tmp_path: Path) -> NvmlScenario:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    return scenario


def test_the_command_prints_and_runs(node: NvmlScenario) -> None:
    run = accelwatch("pick", "-n", "2", *PATIENT, environ=node.environment())
    assert run.returncode == 0, run.stderr
    variable, _, value = run.stdout.strip().partition("=")
    assert variable == "CUDA_VISIBLE_DEVICES"
    assert len(value.split(",")) == 2
    show = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"
    ran = accelwatch("pick", *PATIENT, "--", sys.executable, "-c", show, environ=node.environment())
    assert ran.stdout.startswith("GPU-")
    as_json = accelwatch("pick", "--format", "json", *PATIENT, environ=node.environment())
    assert json.loads(as_json.stdout)["variable"] == "CUDA_VISIBLE_DEVICES"


def test_the_command_is_exit_4_with_reasons_when_unmet(node: NvmlScenario) -> None:
    run = accelwatch("pick", "--free-memory", "100GiB", *PATIENT, environ=node.environment())
    assert (run.returncode, run.stdout) == (4, "")
    assert "1 requested, 0 of one vendor qualify" in run.stderr
    assert "nvidia7: " in run.stderr


def test_a_vendor_without_a_variable_is_a_mistake(node: NvmlScenario) -> None:
    run = accelwatch("pick", "--vendor", "nvida", environ=node.environment())
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("accelwatch: --vendor is amd, ")
    assert ", intel, " in run.stderr
    assert ", nvidia, " in run.stderr
    assert run.stderr.endswith(", not 'nvida'\n")


def test_a_command_that_is_not_there_is_reported(node: NvmlScenario) -> None:
    run = accelwatch("pick", *PATIENT, "--", "no-such-command", environ=node.environment())
    assert (run.returncode, run.stdout) == (2, "")
    assert "cannot run no-such-command" in run.stderr


def test_the_machine_below_a_root_is_picked_from_by_one_backend(
    node: NvmlScenario, tmp_path: Path
) -> None:
    FakeTree(tmp_path / "host").lay_out("amd/mi300x-x2")
    words = ("pick", *PATIENT, "--root", str(tmp_path / "host"))
    run = accelwatch(*words, "--backend", "amd", environ=node.environment())
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("ROCR_VISIBLE_DEVICES=GPU-")
    run = accelwatch(*words, "--backend", "intel", environ=node.environment())
    assert (run.returncode, run.stdout) == (4, "")
    assert "no device found" in run.stderr


@pytest.mark.parametrize(("collect", "code"), [((), 4), (("--collect", "all"), 0)])
def test_a_filter_sees_an_opt_in_group_that_is_collected(
    node: NvmlScenario, collect: tuple[str, ...], code: int
) -> None:
    words = ("pick", *PATIENT, "-f", "power_average_watts >= 0", *collect)
    run = accelwatch(*words, environ=node.environment())
    assert run.returncode == code, run.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--root", "/no/such/root"), "--root /no/such/root: no such directory"),
        (("--backend", "nvida"), "--backend 'nvida' is not installed; did you mean nvidia?"),
        (("--collect", "hots"), "no opt-in group 'hots'; did you mean host?"),
    ],
)
@pytest.mark.parametrize(
    "command", ["pick", "dashboard", "serve", "record -o /nowhere/r", "--json"]
)
def test_what_is_not_there_cannot_be_read(
    command: str, words: tuple[str, str], message: str
) -> None:
    run = accelwatch(*command.split(), *words)
    assert (run.returncode, run.stderr) == (2, f"accelwatch: {message}\n")


def test_a_recording_is_picked_from_without_a_gpu_and_runs_nothing() -> None:
    run = accelwatch("pick", "--replay", "demo", "--format", "json", *PATIENT)
    assert run.returncode == 0
    assert json.loads(run.stdout)["devices"]
    run = accelwatch("pick", "--replay", "demo", "--free-memory", "900GiB", *PATIENT)
    assert run.returncode == 4
    assert "GiB free, 900 GiB requested" in run.stderr
    run = accelwatch("pick", "--replay", "demo", "--", "true")
    assert (run.returncode, run.stdout) == (2, "")
    assert "--replay" in run.stderr
    run = accelwatch("pick", "--replay", "demo", "-b", "nvidia")
    assert (run.returncode, run.stdout) == (2, "")
