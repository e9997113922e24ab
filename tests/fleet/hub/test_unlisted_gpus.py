"""GPUs that dcgm-exporter leaves out while no pod holds them, under Kubernetes DRA (its issue 569)."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from accelwatch.base.errors import UnmetError
from accelwatch.fleet.dialects import ForeignReader, read_devices
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.remedies.node_status import is_healthy
from accelwatch.fleet.state.inventory.file import FILE, read_all
from accelwatch.fleet.state.snapshots import snapshot_of
from accelwatch.fleet.state.transitions import MISSING_AFTER_S, Transitions
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView
from support.fleet.manual_fleet import Bench

NODE = "n1"
ALL = range(4)
FAMILIES = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL")


def line(family: str, gpu: int, pod: str = "", claim: str = "", mig: str = "") -> str:
    labels = f'gpu="{gpu}",UUID="GPU-{gpu}",device="nvidia{gpu}",modelName="NVIDIA H100"'
    labels += f',GPU_I_ID="{mig}",GPU_I_PROFILE="1g.10gb"' if mig else ""
    labels += f',pod="{pod}",namespace="ml",container="main"' if pod else ""
    labels += f',dra_claim_name="{claim}",dra_driver_name="gpu.nvidia.com"' if claim else ""
    return f"{family}{{{labels}}} 40\n"


def page(
    *gpus: int,
    claimed: Iterable[int] = (),
    plain_pods: Iterable[int] = (),
    holders: Mapping[int, tuple[str, str]] | None = None,
) -> str:
    """What the exporter writes of these GPUs, of which pods hold some: each its own by its own claim,
    but for those with pod and claim given.
    """
    held = {gpu: (f"p{gpu}", "") for gpu in plain_pods}
    held |= {gpu: (f"p{gpu}", f"claim{gpu}") for gpu in claimed}
    held |= holders or {}
    return "".join(line(family, gpu, *held.get(gpu, ())) for family in FAMILIES for gpu in gpus)


class Node:
    """A node that a hub scrapes; its page is the test's."""

    def __init__(self, folder: Path | None = None, *, gpus: str = NODE) -> None:
        self.bench = Bench(gpus, folder=folder)
        self.target = self.bench.targets[gpus]
        self._read = foreign_reader(self.target, now=self.bench.clock.wall)

    def scrape(self, body: str, times: int = 1) -> None:
        for _ in range(times):
            self.bench.clock.advance(15.0)
            exposed = self._read(body.encode())
            source = self.bench.fleet.source(self.target.key)
            assert source is not None
            source.dialect = exposed.dialect
            self.bench.fleet.read(
                self.target.key, exposed.devices, None, 15.0, listing=exposed.listing
            )

    @property
    def views(self) -> dict[int, DeviceView]:
        snapshot = snapshot_of(self.bench.fleet, self.bench.fleet.nodes[NODE])
        return {view.device.index: view for view in snapshot.devices}

    @property
    def states(self) -> list[str]:
        return [view.state for _, view in sorted(self.views.items())]

    @property
    def missing(self) -> list[int]:
        return sorted(self.bench.missing(NODE))

    def well(self) -> bool | None:
        return is_healthy(self.bench.fleet, self.bench.fleet.nodes[NODE], ())


OK, EXCLUDED, LOST = DeviceState.OK, DeviceState.EXCLUDED, DeviceState.LOST


def test_gpus_that_no_pod_holds_stay_rows_and_say_why() -> None:
    node = Node()
    node.scrape(page(*ALL))
    node.scrape(page(1, claimed=[1]), times=20)
    assert node.states == [EXCLUDED, OK, EXCLUDED, EXCLUDED]
    assert node.missing == []
    unlisted = node.views[0]
    assert unlisted.health is Health.UNKNOWN
    (reason,) = unlisted.health_reasons
    assert reason.startswith("dcgm-exporter does not list the device: under Kubernetes DRA")
    assert "update the exporter or run an agent" in reason
    assert unlisted.reading.notes == (reason,)
    assert not unlisted.reading.values
    assert node.well() is None
    node.bench.fleet.close()


def test_they_are_back_after_the_pod_s_end_and_out_again_with_the_next() -> None:
    node = Node()
    node.scrape(page(*ALL))
    node.scrape(page(1, 2, claimed=[1, 2]), times=2)
    since = node.views[0].state_since
    node.scrape(page(1, claimed=[1]))
    assert node.views[0].state_since == since
    assert node.views[2].state_since == since + 30.0
    node.scrape(page(*ALL))
    assert node.states == [OK] * 4
    assert node.well() is True
    node.scrape(page(3, claimed=[3]))
    assert node.states == [EXCLUDED, EXCLUDED, EXCLUDED, OK]
    assert node.views[0].state_since > since
    node.bench.fleet.close()


def test_an_unlisted_gpu_that_was_taken_out_is_acknowledged_by_its_id() -> None:
    node = Node()
    node.scrape(page(*ALL))
    node.scrape(page(1, claimed=[1]))
    fleet = node.bench.fleet
    assert asyncio.run(fleet.acknowledge(NODE)) == 0
    assert asyncio.run(fleet.acknowledge(NODE, "nvidia:GPU-0")) == 1
    node.scrape(page(1, claimed=[1]))
    assert sorted(node.views) == [1, 2, 3]
    with pytest.raises(UnmetError):
        asyncio.run(fleet.acknowledge(NODE, "nvidia:GPU-1"))
    fleet.close()


@pytest.mark.parametrize("held", [(), (0, 1, 2)], ids=["idle", "device plug-in"])
def test_without_claims_a_gpu_that_vanishes_is_missing(held: tuple[int, ...]) -> None:
    node = Node()
    node.scrape(page(*ALL, plain_pods=held))
    node.scrape(page(0, 1, 2, plain_pods=held), times=2)
    assert node.missing == [3]
    assert node.states == [OK, OK, OK, LOST]
    assert node.well() is False
    node.bench.fleet.close()


@pytest.mark.parametrize("pods", [(), (0, 1)], ids=["idle", "device plug-in"])
def test_a_page_without_claims_leaves_no_gpu_out(pods: tuple[int, ...]) -> None:
    node = Node()
    node.scrape(page(*ALL))
    node.scrape(page(*ALL, claimed=ALL), times=2)
    node.scrape(page(0, 1, plain_pods=pods))
    assert node.missing == [2, 3]
    assert node.states == [OK, OK, LOST, LOST]
    node.bench.fleet.close()


_ONE_CLAIM = dict.fromkeys(ALL, ("train", "four-gpus"))
_CLAIM_EACH = {gpu: ("train", f"gpu-{gpu}") for gpu in ALL}
_PODS_OF_A_CLAIM = {gpu: (f"worker{gpu}", "four-gpus") for gpu in ALL}
_OF_OTHERS = {gpu: (f"worker{gpu}", f"gpu-{gpu}") for gpu in ALL}


@pytest.mark.parametrize(
    ("holders", "missing"),
    [(_ONE_CLAIM, [3]), (_CLAIM_EACH, [3]), (_PODS_OF_A_CLAIM, [3]), (_OF_OTHERS, [])],
    ids=["one claim", "a claim each", "pods of one claim", "others' claims"],
)
def test_a_gpu_in_use_that_vanishes_is_missing(
    holders: dict[int, tuple[str, str]], missing: list[int]
) -> None:
    node = Node()
    node.scrape(page(*ALL))
    node.scrape(page(*ALL, holders=holders), times=2)
    node.scrape(page(0, 1, 2, holders=holders), times=3)
    assert node.missing == missing
    node.bench.fleet.close()


@pytest.mark.parametrize(("status", "missing"), [(0, []), (10, []), (20, [2, 3])])
def test_gpus_that_vanish_with_their_pod_are_missing_if_they_had_failed(
    status: int, missing: list[int]
) -> None:
    node = Node()
    node.scrape(page(*ALL))
    holders = {0: ("other", "o"), 2: ("train", "both"), 3: ("train", "both")}
    health = "".join(
        f'DCGM_EXP_GPU_HEALTH_STATUS{{gpu="{gpu}",UUID="GPU-{gpu}",health_watch="PCIE"}} {status}\n'
        for gpu in (2, 3)
    )
    node.scrape(page(0, 2, 3, holders=holders) + health, times=2)
    node.scrape(page(0, holders=holders), times=3)
    assert node.missing == missing
    # As long as nothing says that they are lost, they are left out, and the node is not well either.
    assert node.states == [OK, EXCLUDED, *[LOST if missing else EXCLUDED] * 2]
    assert node.well() is (False if missing else None)
    # With no pod left the exporter lists all GPUs that there are.
    node.scrape(page(0, 1), times=2)
    assert node.missing == [2, 3]
    node.scrape(page(*ALL), times=2)
    assert node.missing == []
    node.bench.fleet.close()


def test_claims_of_one_name_in_two_namespaces_are_two() -> None:
    node = Node()
    node.scrape(page(*ALL))
    both = {0: ("train", "gpus"), 1: ("train", "gpus")}
    before = page(0, holders=both) + page(1, holders=both).replace('"ml"', '"web"')
    node.scrape(before, times=2)
    node.scrape(page(0, holders=both), times=2)
    assert node.missing == []
    node.bench.fleet.close()


def test_a_pod_made_anew_under_its_name_has_given_back_its_gpu() -> None:
    node = Node()
    node.scrape(page(*ALL))
    node.scrape(page(0, 3, holders={0: ("other", "o"), 3: ("train-0", "train-0-a")}), times=2)
    node.scrape(page(0, 1, holders={0: ("other", "o"), 1: ("train-0", "train-0-b")}), times=2)
    assert node.missing == []
    assert node.states == [OK, OK, EXCLUDED, EXCLUDED]
    node.bench.fleet.close()


def test_a_gpu_that_was_missing_stays_so_until_it_is_listed() -> None:
    node = Node()
    node.scrape(page(*ALL, holders=_ONE_CLAIM), times=2)
    node.scrape(page(0, 1, 2, holders=_ONE_CLAIM))
    node.scrape(page(0, claimed=[0]), times=2)
    assert node.missing == [3]
    assert node.states == [OK, EXCLUDED, EXCLUDED, LOST]
    node.scrape(page(*ALL))
    node.scrape(page(0, claimed=[0]))
    assert node.missing == []
    node.scrape(page(0, 1, 2))
    node.scrape(page(0, claimed=[0]))
    assert node.missing == [3]
    node.bench.fleet.close()


def test_a_gpu_that_was_missing_before_any_claim_stays_so() -> None:
    node = Node()
    node.scrape(page(*ALL))
    node.scrape(page(0, 1, 2), times=2)
    node.scrape(page(0, claimed=[0]), times=2)
    assert node.missing == [3]
    node.bench.fleet.close()


def test_a_hub_that_starts_again_knows_which_gpus_were_missing_and_who_held_the_others(
    tmp_path: Path,
) -> None:
    before = Node(tmp_path)
    before.scrape(page(*ALL))
    before.scrape(page(*ALL, holders=_ONE_CLAIM))
    before.scrape(page(0, 1, 2, holders=_ONE_CLAIM))
    _close_and_keep(before)
    after = Node(tmp_path)
    after.scrape(page(0, 1, holders=_ONE_CLAIM), times=2)
    assert after.missing == [2, 3]
    after.bench.fleet.close()


def test_an_exporter_that_lists_both_kinds_leaves_none_out() -> None:
    node = Node()
    node.scrape(page(*ALL))
    node.scrape(page(0, claimed=[0]))
    node.scrape(page(*ALL, claimed=[0, 1]))
    node.scrape(page(0, 1, claimed=[0, 1]), times=2)
    assert node.missing == [2, 3]
    assert node.states == [OK, OK, LOST, LOST]
    node.bench.fleet.close()


@pytest.mark.parametrize("mended", [False, True])
def test_a_hub_that_starts_again_knows_what_is_listed(tmp_path: Path, mended: bool) -> None:
    before = Node(tmp_path)
    before.scrape(page(*ALL))
    before.scrape(page(0, 1, claimed=[0, 1]))
    if mended:
        before.scrape(page(*ALL, claimed=[0, 1]))
    _close_and_keep(before)
    after = Node(tmp_path)
    after.scrape(page(0, 1, claimed=[0, 1]), times=3)
    assert after.missing == ([2, 3] if mended else [])
    assert after.states == [OK, OK, *[LOST if mended else EXCLUDED] * 2]
    after.bench.fleet.close()


def _close_and_keep(node: Node) -> None:
    asyncio.run(node.bench.fleet.flush())
    node.bench.fleet.close()


def test_an_inventory_of_an_older_version_is_read(tmp_path: Path) -> None:
    before = Node(tmp_path)
    before.scrape(page(*ALL))
    _close_and_keep(before)
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute("DROP TABLE listings")
        (expected,) = read_all(database).values()
    assert expected.listing is None
    assert len(expected.devices) == 4
    after = Node(tmp_path)
    after.scrape(page(0, claimed=[0]))
    assert after.missing == []
    after.bench.fleet.close()


def test_a_node_that_is_forgotten_leaves_nothing_of_its_listing(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.scrape(page(*ALL))
    node.scrape(page(0, claimed=[0]))
    node.bench.fleet.set_targets([])
    asyncio.run(node.bench.fleet.flush())
    asyncio.run(node.bench.fleet.acknowledge(NODE))
    node.bench.fleet.close()
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as database:
        assert database.execute("SELECT count(*) FROM listings").fetchone() == (0,)


@pytest.mark.parametrize(("claimed", "expected"), [((0,), []), ((), ["device_missing"] * 3)])
def test_no_event_is_recorded_of_unlisted_gpus(
    claimed: tuple[int, ...], expected: list[str]
) -> None:
    async def rest() -> None: ...

    async def main() -> list[str]:
        node = Node()
        transitions = Transitions(node.bench.fleet)
        node.scrape(page(*ALL))
        await transitions.poll(rest)
        for body in (page(*ALL), page(0, claimed=claimed), page(0, claimed=claimed)):
            node.scrape(body)
            for _ in range(2 * int(MISSING_AFTER_S)):
                node.bench.clock.advance(1.0)
                await transitions.poll(rest)
        codes = [noted.event.code for noted in node.bench.fleet.events.of(NODE)]
        node.bench.fleet.close()
        return codes

    assert [code for code in asyncio.run(main()) if code.startswith("device_")] == expected


def test_errors_that_were_counted_before_are_not_counted_again() -> None:
    node = Node()
    xids = 'DCGM_EXP_XID_ERRORS_TOTAL{{gpu="0",UUID="GPU-0",xid="63"}} {}\n'
    node.scrape(page(*ALL) + xids.format(3))
    node.scrape(page(1, claimed=[1]))
    events = len(list(node.bench.fleet.events.of(NODE)))
    node.scrape(page(*ALL) + xids.format(3))
    assert len(list(node.bench.fleet.events.of(NODE))) == events
    node.scrape(page(*ALL) + xids.format(4))
    assert len(list(node.bench.fleet.events.of(NODE))) == events + 1
    node.bench.fleet.close()


def test_only_the_exporter_s_own_vendor_is_left_out() -> None:
    node = Node()
    other = 'gpu_gfx_activity{gpu_id="9",gpu_uuid="a9",serial_number="s9",card_model="MI300X"} 5\n'
    node.scrape(page(*ALL) + other)
    assert len(node.states) == 5
    node.scrape(page(0, claimed=[0]), times=2)
    assert node.missing == [9]
    node.bench.fleet.close()


@pytest.mark.parametrize(("listed", "excused"), [((0, 1, 2), False), ((), True)])
def test_another_source_that_lists_gpus_is_believed(listed: tuple[int, ...], excused: bool) -> None:
    node = Node()
    fleet = node.bench.fleet
    first, second = targets_of([NODE, f"{NODE}:9835"])
    fleet.set_targets([first, second])
    assert first.key == node.target.key
    node.scrape(page(*ALL))
    for _ in range(2):
        others = read_devices(page(*listed), node.bench.clock.wall()).devices
        fleet.read(second.key, others, None, 15.0)
        node.scrape(page(0, claimed=[0]))
    assert node.missing == ([] if excused else [3])
    fleet.close()


def _listing(body: str) -> bool | None:
    listing = ForeignReader().read(body, 1000.0).listing
    return None if listing is None else listing.claimed_only


@pytest.mark.parametrize(
    ("body", "claimed_only"),
    [
        (page(*ALL), None),
        (page(*ALL, plain_pods=[0]), None),
        (page(0, claimed=[0]), True),
        (page(0, 1, claimed=[0, 1]), True),
        (page(0, 1, claimed=[0]), False),
        # A family that reports only of GPUs without a claim is left as it is.
        (page(0, claimed=[0]) + line("DCGM_FI_DEV_XID_ERRORS", 1), True),
        # Both scrapes of before and after a pod's start, as a store may keep them.
        (page(*ALL) + page(0, claimed=[0]), True),
        # The whole GPU beside its instance: nothing without a claim is left out.
        (line(FAMILIES[0], 0) + line(FAMILIES[0], 0, "p", "c", mig="1"), False),
        (line(FAMILIES[0], 0, "p", "c", mig="1") + line(FAMILIES[0], 0, "p", "c", mig="2"), True),
        # Releases with base units came after the mend.
        (
            line("DCGM_FI_DEV_GPU_TEMP_CELSIUS", 0, "p", "c")
            + line("DCGM_FI_DEV_GPU_UTIL_RATIO", 0, "p", "c"),
            None,
        ),
    ],
)
def test_what_a_page_shows_of_its_exporter(body: str, claimed_only: bool | None) -> None:
    assert _listing(body) is claimed_only


def test_a_claim_is_known_on_pages_that_are_planned_together() -> None:
    def body(letter: str) -> str:
        return "".join(
            line(family, gpu, claim="c").replace("GPU-", f"GPU-{letter}-")
            for family in FAMILIES
            for gpu in ALL
        )

    assert [_listing(body(letter)) for letter in "abc"] == [True] * 3
