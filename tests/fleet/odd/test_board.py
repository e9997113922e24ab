"""Which nodes are marked as odd: few against many, in devices, host and agent, and no roll-out."""

import asyncio

import msgspec
import pytest

from accelwatch.fleet.odd.documents import Deviation, fields_of, text_of
from accelwatch.fleet.state.boards.odd_board import MOST_DEVIATIONS, deviations_of
from accelwatch.fleet.state.boards.odd_comparing import Kind, Observation
from accelwatch.fleet.target import targets_of
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView
from support.fleet.uniform_fleet import AlikeFleet, views

DRIVER = Kind("nvidia H100", "", "driver")
BOTH = ("nvidia0", "nvidia1")


def drivers(*values: str) -> list[list[Observation]]:
    """A node for each value."""
    return [[Observation(DRIVER, value, f"n{at}", BOTH)] for at, value in enumerate(values, 1)]


def test_a_mark_names_the_value_that_of_the_many_and_how_many_have_it() -> None:
    marks = deviations_of(drivers("570", "570", "550", "570"))
    assert marks == {
        "n3": (Deviation(field="driver", value="550", usual="570", usual_nodes=3, nodes=4),)
    }
    assert text_of(marks["n3"]) == "driver 550 (3 of 4 nodes have 570)"


@pytest.mark.parametrize(
    ("odd", "usual", "marked"),
    [(1, 2, 1), (2, 6, 2), (3, 6, 0), (1, 1, 0), (4, 4, 0), (25, 75, 25), (26, 74, 0), (50, 50, 0)],
)
def test_only_what_few_have_is_odd_and_no_roll_out_is(odd: int, usual: int, marked: int) -> None:
    assert len(deviations_of(drivers(*["570"] * usual, *["580"] * odd))) == marked


def test_where_no_value_is_that_of_most_nobody_is_odd() -> None:
    assert deviations_of(drivers("570", "570", "550", "560", "580")) == {}


def test_one_value_of_few_is_marked_beside_another_that_is_rolled_out() -> None:
    marks = deviations_of(drivers(*["570"] * 6, *["580"] * 4, "550"))
    assert list(marks) == ["n11"]


def test_partitioning_differs_on_purpose() -> None:
    kind = DRIVER._replace(field="partition_mode")
    nodes = [[one._replace(kind=kind) for one in seen] for seen in drivers("1", "1", "1", "0")]
    assert deviations_of(nodes) == {}


def test_a_device_that_differs_from_the_others_of_its_node_is_named() -> None:
    nodes = drivers("570", "570", "570")
    nodes[0].append(Observation(DRIVER, "550", "n1", ("nvidia2",)))
    (mark,) = deviations_of(nodes)["n1"]
    assert mark.text == "driver 550 on nvidia2 (3 of 3 nodes have 570)"


def test_nodes_that_are_alike_have_no_mark_and_one_that_changes_has() -> None:
    alike = AlikeFleet()
    assert alike.odd_texts() == {}
    version = alike.fleet.odd.version
    alike.report("b", *views(driver="550.2", kernel="5.15.0"))
    assert alike.odd_texts() == {
        "b": "kernel 5.15.0 (3 of 4 nodes have 6.8.0); driver 550.2 (3 of 4 nodes have 570.1)"
    }
    assert fields_of(alike.fleet.odd.of("b")) == ("kernel", "driver")
    assert alike.fleet.odd.version > version
    alike.report("b", *views())
    assert alike.odd_texts() == {}


def test_nothing_is_compared_again_while_all_say_the_same() -> None:
    alike = AlikeFleet()
    alike.report("b", *views(driver="550.2"))
    alike.odd_texts()
    before, version = alike.fleet.odd.of("b"), alike.fleet.odd.version
    alike.report("b", *views(driver="550.2"))
    alike.odd_texts()
    assert alike.fleet.odd.of("b") is before
    assert alike.fleet.odd.version == version


def test_a_node_that_is_no_target_any_more_is_compared_no_more() -> None:
    alike = AlikeFleet()
    alike.report("b", *views(driver="550.2"))
    assert list(alike.odd_texts()) == ["b"]
    alike.fleet.set_targets(targets_of(["b", "c"], {}))
    for gone in ("a", "d"):
        asyncio.run(alike.fleet.acknowledge(gone))
    assert alike.odd_texts() == {}


@pytest.mark.parametrize(
    ("clusters", "odd"),
    [(("x", "x", "x", "x"), ["b"]), (("x", "y", "x", "x"), []), (("", "", "", ""), ["b"])],
)
def test_clusters_are_not_compared_with_each_other(
    clusters: tuple[str, ...], odd: list[str]
) -> None:
    alike = AlikeFleet(clusters)
    alike.report("b", *views(driver="550.2"))
    assert list(alike.odd_texts()) == odd


def set_to(swappiness: str | None, nccl: str | None = "2.21.5") -> tuple[DeviceView, ...]:
    """A device on a host with a setting and a library."""
    device, machine = views()
    reported: dict[Series, Number] = {}
    if swappiness is not None:
        reported["host_setting_info", "vm.swappiness", swappiness] = 1
    if nccl is not None:
        reported["host_library_info", "nccl", nccl] = 1
    reading = msgspec.structs.replace(machine.reading, values=reported)
    return device, msgspec.structs.replace(machine, reading=reading)


def test_settings_of_the_kernel_and_libraries_are_compared() -> None:
    alike = AlikeFleet()
    for node in alike.nodes:
        alike.report(node, *set_to("10"))
    assert alike.odd_texts() == {}
    alike.report("c", *set_to("60", "2.18.1"))
    assert alike.odd_texts() == {
        "c": "nccl 2.18.1 (3 of 4 nodes have 2.21.5); vm.swappiness 60 (3 of 4 nodes have 10)"
    }
    alike.report("c", *set_to("10"))
    assert alike.odd_texts() == {}


def test_a_setting_that_is_not_known_differs_from_nothing() -> None:
    alike = AlikeFleet()
    for node in alike.nodes:
        alike.report(node, *set_to("10"))
    alike.report("c", *set_to(None, None))
    assert alike.odd_texts() == {}


def test_a_node_that_reports_too_much_has_a_bounded_number_of_marks() -> None:
    alike = AlikeFleet()
    for node in alike.nodes:
        alike.report(node, *set_to("10"))
    device, machine = set_to("10")
    reported: dict[Series, Number] = {
        ("host_setting_info", "vm.swappiness", f"{number}" * 1000): 1 for number in range(500)
    }
    reading = msgspec.structs.replace(machine.reading, values=reported)
    alike.report("c", device, msgspec.structs.replace(machine, reading=reading))
    assert list(alike.odd_texts()) == ["c"]
    marks = alike.fleet.odd.of("c")
    assert len(marks) == MOST_DEVIATIONS
    assert {len(mark.value) for mark in marks} == {120}
