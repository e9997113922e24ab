"""What is counted for whom: alone and shared, over gaps, resets and partitions, and nothing twice."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.usage.cells import summary
from accelwatch.node.usage.ledger import By, Ledger
from accelwatch.node.usage.observation import observations_of
from accelwatch.node.usage.report import EnergyPrice, UsageReport, UsageRow, report
from accelwatch.node.usage.shares import Kind
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.reading import Number, Process, Reading
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot
from accelwatch.schema.timestamps import timestamp
from support.machines import composed as machines

START = 1_800_000_000.0
GIB = 1 << 30
LOAD, POWER, MEMORY = ("utilization_ratio",), ("power_watts",), ("memory_used_bytes",)
ENERGY, BUSY = ("energy_joules_total", "hardware"), ("busy_seconds_total",)
BUSY_AT_HALF: dict[tuple[str, ...], Number] = {LOAD: 0.5, POWER: 360.0, MEMORY: 10 * GIB}


def view(
    values: dict[tuple[str, ...], Number],
    *,
    index: int = 0,
    owners: tuple[Owner, ...] = (),
    processes: tuple[Process, ...] | None = (),
    device: Device | None = None,
    state: DeviceState = DeviceState.OK,
    time: float = START,
) -> DeviceView:
    one = device or machines.device(index)
    absent: dict[tuple[str, ...], Absence] = {
        key: Absence.PERMISSION
        for key in (LOAD, POWER, MEMORY, ("processes",))
        if key not in values and (key != ("processes",) or processes is None)
    }
    return DeviceView(
        device=one,
        state=state,
        state_since=START,
        reading=Reading(device_id=one.id, values=values, absent=absent, processes=processes),
        owners=owners,
        sample_time=time,
    )


def job(job_id: str, user: str = "") -> Owner:
    return Owner(kind="job", scheduler="slurm", job_id=job_id, user=user)


def process(pid: int, user: str | None, **fields: object) -> Process:
    one = Process(device_id="d", pid=pid, user=user)
    return msgspec.structs.replace(one, **fields)


class Node:
    """Readings of a machine, one after the other."""

    def __init__(self, gap_limit_s: float = 30.0, **bounds: int) -> None:
        self.ledger = Ledger(gap_limit_s=gap_limit_s, **bounds)
        self.time = START
        self.monotonic_s = 1000.0

    def read(self, *views: DeviceView, after: float = 0.0, set_by: float | None = None) -> "Node":
        """A reading so much later; `set_by`: by so much was the clock set, and a moment tells so."""
        self.time += after + (set_by or 0.0)
        self.monotonic_s += after
        fresh = tuple(
            one
            if one.sample_time is None
            else msgspec.structs.replace(one, sample_time=self.time + one.sample_time - START)
            for one in views
        )
        shot = Snapshot(time=self.time, host="n1", version="1", devices=fresh)
        monotonic_s = None if set_by is None else self.monotonic_s
        self.ledger.add(self.time, observations_of(shot), monotonic=monotonic_s)
        return self

    def usage_report(
        self, by: By = By.USER, window_s: float | None = 3600.0, price: EnergyPrice | None = None
    ) -> UsageReport:
        return report(self.ledger, by, window_s, price=price)

    def row(self, name: str, by: By = By.USER, window_s: float | None = 3600.0) -> UsageRow:
        rows = self.usage_report(by, window_s).rows
        return next(
            one for one in rows if name in (one.user if by is By.USER else one.job, one.kind)
        )

    def total(self, window_s: float | None = 3600.0) -> UsageRow:
        total = self.usage_report(window_s=window_s).total
        assert total is not None
        return total


def steady(node: Node, one: DeviceView, *, steps: int = 6, each: float = 10.0) -> Node:
    """The same reading again and again."""
    for step in range(steps + 1):
        node.read(one, after=each if step else 0.0)
    return node


def test_who_holds_a_device_alone_has_all_of_it() -> None:
    node = steady(Node(), view(BUSY_AT_HALF, owners=(job("4718", "ada"),)))
    ada, of_job = node.row("ada"), node.row("4718", By.JOB)
    assert (ada.kind, of_job.kind, of_job.user) == (Kind.USER, Kind.JOB, "ada")
    for row in (ada, of_job):
        assert (row.devices, row.device_names) == (1, ("nvidia0",))
        assert row.device_seconds == row.load_seconds == row.energy_seconds == 60.0
        assert row.load_ratio == pytest.approx(0.5)
        assert (row.memory_bytes, row.memory_peak_bytes) == (10 * GIB, 10 * GIB)
        assert row.energy_kwh == pytest.approx(360 * 60 / 3.6e6)
        assert (row.idle_seconds, row.unseen_seconds, row.shared_seconds) == (0.0, 0.0, 0.0)
        assert row.absent == {}
    assert ada.cost is None
    priced = node.usage_report(price=EnergyPrice(per_kwh=0.5, currency="EUR")).rows[0]
    assert priced.cost == pytest.approx(0.5 * 360 * 60 / 3.6e6)


def test_devices_and_seconds_add_up() -> None:
    node = Node()
    for step in range(2):
        node.read(
            *(view(BUSY_AT_HALF, index=index, owners=(job("1", "ada"),)) for index in range(8)),
            after=10.0 * step,
        )
    row = node.row("ada")
    assert (row.devices, row.device_seconds, row.load_ratio) == (8, 80.0, 0.5)


def test_a_device_is_idle_below_a_load_and_not_at_it() -> None:
    idle = steady(Node(), view({**BUSY_AT_HALF, LOAD: 0.04}, owners=(job("1", "ada"),)))
    busy = steady(Node(), view({**BUSY_AT_HALF, LOAD: 0.05}, owners=(job("1", "ada"),)))
    assert idle.row("ada").idle_seconds == 60.0
    assert busy.row("ada").idle_seconds == 0.0


def test_what_nobody_holds_is_nobodys_and_part_of_the_total() -> None:
    node = Node()
    for step in range(2):
        node.read(
            view({**BUSY_AT_HALF, LOAD: 0.0}),
            view(BUSY_AT_HALF, index=1, owners=(job("1", "ada"),)),
            after=10.0 * step,
        )
    rows = node.usage_report().rows
    assert [(row.kind, row.user) for row in rows] == [(Kind.USER, "ada"), (Kind.FREE, None)]
    assert node.total().device_seconds == 20.0
    assert node.total().idle_seconds == 10.0


def test_unseen_processes_are_somebodys_not_nobodys() -> None:
    node = steady(Node(), view(BUSY_AT_HALF, processes=None))
    assert node.usage_report().rows[0].kind is Kind.UNKNOWN


def shared(*processes: Process, load: float = 0.5) -> Node:
    return steady(Node(), view({**BUSY_AT_HALF, LOAD: load}, processes=processes))


def test_a_shared_device_is_reported_by_own_processes() -> None:
    node = shared(
        process(1, "ada", utilization_ratio=0.3, gpu_memory_bytes=6 * GIB),
        process(2, "ada", utilization_ratio=0.06, gpu_memory_bytes=1 * GIB),
        process(3, "bob", utilization_ratio=0.12, gpu_memory_bytes=2 * GIB),
    )
    ada, bob, total = node.row("ada"), node.row("bob"), node.total()
    assert ada.load_ratio == pytest.approx(0.36)
    assert bob.load_ratio == pytest.approx(0.12)
    assert (ada.memory_bytes, bob.memory_bytes) == (7 * GIB, 2 * GIB)
    assert ada.energy_kwh == pytest.approx(0.75 * 360 * 60 / 3.6e6)
    assert bob.energy_kwh == pytest.approx(0.25 * 360 * 60 / 3.6e6)
    assert (ada.shared_seconds, ada.energy_divided_seconds) == (60.0, 0.0)
    assert (total.device_seconds, total.devices) == (60.0, 1)
    assert total.load_ratio == pytest.approx(0.5)
    assert total.energy_kwh == pytest.approx(360 * 60 / 3.6e6)


def test_where_processes_report_no_load_energy_is_divided_and_load_unknown() -> None:
    node = shared(
        process(1, "ada", absent={"utilization_ratio": Absence.PERMISSION}, gpu_memory_bytes=GIB),
        process(2, "bob", utilization_ratio=0.4),
    )
    ada, bob = node.row("ada"), node.row("bob")
    assert (ada.load_ratio, ada.idle_seconds) == (None, None)
    assert ada.absent == {"load_ratio": Absence.PERMISSION, "idle_seconds": Absence.PERMISSION}
    assert bob.load_ratio == pytest.approx(0.4)
    assert bob.memory_bytes is None
    assert bob.absent["memory_bytes"] is Absence.UNSUPPORTED
    assert ada.energy_kwh == bob.energy_kwh == pytest.approx(0.5 * 360 * 60 / 3.6e6)
    assert ada.energy_divided_seconds == 60.0


def test_an_idle_shared_device_is_idle_for_all_and_counted_idle_once() -> None:
    node = shared(process(1, "ada"), process(2, "bob"), load=0.0)
    assert node.row("ada").idle_seconds == node.row("bob").idle_seconds == 60.0
    assert node.total().idle_seconds == 60.0


def test_two_jobs_of_one_user_are_two_jobs_and_one_device_of_the_user() -> None:
    owners = (job("1", "ada"), job("2", "ada"))
    own = (
        process(1, "ada", job="1", utilization_ratio=0.3, gpu_memory_bytes=GIB),
        process(2, "ada", job="2", utilization_ratio=0.1, gpu_memory_bytes=GIB),
    )
    node = steady(Node(), view(BUSY_AT_HALF, owners=owners, processes=own))
    assert node.row("ada").device_seconds == 60.0
    assert node.row("ada").load_ratio == pytest.approx(0.5)
    assert (node.row("ada").memory_bytes, node.row("ada").shared_seconds) == (10 * GIB, 0.0)
    assert [node.row(one, By.JOB).load_ratio for one in ("1", "2")] == [
        pytest.approx(0.3),
        pytest.approx(0.1),
    ]


@pytest.mark.parametrize(
    ("user", "holders"),
    [("ada", {"4718"}), (None, {"4718"}), ("bob", {"4718", None})],
    ids=["the owner's", "of nobody known", "a stranger's"],
)
def test_whose_a_process_without_a_job_is(user: str | None, holders: set[str | None]) -> None:
    one = view(BUSY_AT_HALF, owners=(job("4718", "ada"),), processes=(process(1, user),))
    node = steady(Node(), one)
    assert {row.job for row in node.usage_report(By.JOB).rows} == holders


def test_a_display_beside_a_job_shares_nothing() -> None:
    one = view(
        BUSY_AT_HALF,
        owners=(job("4718", "ada"),),
        processes=(process(1, "root", type="graphics"), process(2, "ada")),
    )
    assert steady(Node(), one).row("ada").shared_seconds == 0.0


def test_a_gap_is_neither_busy_nor_idle_and_costs_nothing() -> None:
    one = view({**BUSY_AT_HALF, LOAD: 0.0}, owners=(job("1", "ada"),))
    node = steady(Node(), one)
    node.read(one, after=600.0).read(one, after=10.0)
    row = node.row("ada")
    assert (row.device_seconds, row.idle_seconds, row.unseen_seconds) == (70.0, 70.0, 600.0)
    assert row.energy_kwh == pytest.approx(360 * 70 / 3.6e6)


def test_a_gap_belongs_to_who_was_there_before_and_after() -> None:
    node = steady(Node(), view(BUSY_AT_HALF, owners=(job("1", "ada"),)))
    node.read(view(BUSY_AT_HALF, owners=(job("2", "bob"),)), after=600.0)
    assert node.row("ada").unseen_seconds == 0.0
    assert node.row("bob").unseen_seconds == 0.0
    assert node.total().unseen_seconds == 600.0


def test_a_gap_at_the_limit_is_none() -> None:
    one = view(BUSY_AT_HALF, owners=(job("1", "ada"),))
    assert Node().read(one).read(one, after=30.0).row("ada").unseen_seconds == 0.0
    assert Node().read(one).read(one, after=30.1).row("ada").unseen_seconds == pytest.approx(30.1)


def test_a_lost_device_is_time_without_data() -> None:
    held = (job("1", "ada"),)
    node = steady(Node(), view(BUSY_AT_HALF, owners=held))
    lost = view(BUSY_AT_HALF, owners=held, state=DeviceState.LOST)
    node.read(lost, after=10.0).read(lost, after=10.0)
    row = node.row("ada")
    assert (row.device_seconds, row.unseen_seconds) == (70.0, 10.0)


def test_a_slow_source_is_no_gap_and_its_silence_no_idleness() -> None:
    one = view({**BUSY_AT_HALF, LOAD: 0.9, BUSY: 100.0}, owners=(job("1", "ada"),))
    slow = msgspec.structs.replace(one.reading, pace_s=60.0)
    node = Node(gap_limit_s=15.0).read(msgspec.structs.replace(one, reading=slow))
    for passed in range(10, 60, 10):
        again = msgspec.structs.replace(one, reading=slow, sample_time=START - passed)
        node.read(again, after=10.0)
    later = msgspec.structs.replace(slow, values={**slow.values, BUSY: 154.0})
    node.read(msgspec.structs.replace(one, reading=later), after=10.0)
    row = node.row("ada")
    assert (row.device_seconds, row.unseen_seconds, row.idle_seconds) == (60.0, 0.0, 0.0)
    assert row.load_ratio == pytest.approx(0.9)


def counting(energies: tuple[float, float], busy: tuple[float, float]) -> UsageRow:
    node = Node()
    for position, (joules, seconds) in enumerate(zip(energies, busy, strict=True)):
        values = {**BUSY_AT_HALF, ENERGY: joules, BUSY: seconds}
        node.read(view(values, owners=(job("1", "ada"),)), after=10.0 * position)
    return node.row("ada")


def test_counters_report_what_was_between_two_readings() -> None:
    row = counting((1000.0, 8200.0), (50.0, 52.0))
    assert row.energy_kwh == pytest.approx(7200 / 3.6e6)
    assert row.load_ratio == pytest.approx(0.2)


def test_a_counter_that_was_reset_is_not_believed() -> None:
    row = counting((8200.0, 10.0), (52.0, 1.0))
    assert row.energy_kwh == pytest.approx(3600 / 3.6e6)
    assert row.load_ratio == pytest.approx(0.5)


def test_without_power_the_energy_has_its_reason() -> None:
    node = steady(Node(), view({LOAD: 0.5, MEMORY: GIB}, owners=(job("1", "ada"),)))
    row = node.row("ada")
    assert (row.energy_kwh, row.cost, row.energy_seconds) == (None, None, 0.0)
    assert row.absent == {"energy_kwh": Absence.PERMISSION}


def test_partitions_count_instead_of_their_device() -> None:
    whole = machines.device(0)
    halves = [
        msgspec.structs.replace(whole, id=f"mig-{n}", name=f"mig{n}", parent_id=whole.id)
        for n in range(2)
    ]
    node = Node()
    for step in range(2):
        node.read(
            view({POWER: 400.0, MEMORY: 30 * GIB}, owners=(job("9", "eve"),)),
            view({LOAD: 0.8, MEMORY: 10 * GIB}, device=halves[0], owners=(job("1", "ada"),)),
            view({LOAD: 0.2, MEMORY: 20 * GIB}, device=halves[1], owners=(job("2", "bob"),)),
            after=10.0 * step,
        )
    assert {row.user for row in node.usage_report().rows} == {"ada", "bob"}
    assert node.row("ada").energy_kwh == pytest.approx(2000 / 3.6e6)
    assert (node.row("bob").load_ratio, node.row("bob").memory_bytes) == (0.2, 20 * GIB)
    assert node.total().devices == 2
    assert node.total().energy_kwh == pytest.approx(4000 / 3.6e6)


def test_the_last_hour_and_since_it_started() -> None:
    one = view(BUSY_AT_HALF, owners=(job("1", "ada"),))
    node = steady(Node(), one, steps=720)
    hour, ever = node.row("ada"), node.row("ada", window_s=None)
    assert ever.device_seconds == 7200.0
    assert 3600.0 <= hour.device_seconds <= 3660.0
    assert node.usage_report().whole
    assert node.usage_report(window_s=None).whole
    assert not steady(Node(), one).usage_report().whole


def test_users_that_have_gone_are_reported_for_an_hour_and_then_forgotten() -> None:
    node = steady(Node(), view(BUSY_AT_HALF, owners=(job("1", "ada"),)))
    free = view(BUSY_AT_HALF)
    steady(node, free, steps=350)
    gone = node.row("1", By.JOB)
    assert (gone.device_seconds, gone.holds_now) == (60.0, False)
    steady(node, free, steps=20)
    assert [row.kind for row in node.usage_report(By.JOB, None).rows] == [Kind.FREE]
    assert node.total(window_s=None).device_seconds > 3700.0


def test_too_many_jobs_push_out_those_gone_longest() -> None:
    node = Node(most=3)
    for number in range(5):
        node.read(view(BUSY_AT_HALF, owners=(job(f"{number}", "ada"),)), after=10.0)
    usage = node.usage_report(By.JOB)
    assert {row.job for row in usage.rows} == {"2", "3", "4"}
    assert "2 users or jobs" in usage.notes[0]


def test_more_jobs_at_once_than_there_is_room_for_are_reported_together() -> None:
    node = Node(most=2)
    for step in range(2):
        views = [view(BUSY_AT_HALF, index=n, owners=(job(f"{n}", "ada"),)) for n in range(4)]
        node.read(*views, after=10.0 * step)
    kinds = {row.job or row.kind: row.device_seconds for row in node.usage_report(By.JOB).rows}
    assert kinds == {"0": 10.0, "1": 10.0, Kind.OTHERS: 20.0}
    assert node.total().device_seconds == 40.0


def test_when_a_job_started_is_that_of_its_oldest_process() -> None:
    own = (process(1, "ada", start_time=START - 50), process(2, "ada", start_time=START - 90.0))
    node = steady(Node(), view(BUSY_AT_HALF, owners=(job("1", "ada"),), processes=own))
    row = node.row("1", By.JOB, None)
    assert (row.began, row.counted_since) == (
        "2027-01-15T07:58:30.000Z",
        "2027-01-15T08:00:00.000Z",
    )
    nameless = steady(Node(), view(BUSY_AT_HALF, owners=(job("1", "ada"),)))
    assert nameless.row("1", By.JOB, None).began is None


def test_a_clock_that_goes_back_counts_nothing() -> None:
    one = view(BUSY_AT_HALF, owners=(job("1", "ada"),))
    node = steady(Node(), one)
    node.read(one, after=-3000.0).read(one, after=10.0)
    assert node.row("ada", window_s=None).device_seconds == 70.0
    assert node.usage_report(window_s=None).seconds == 70.0


def timed(*steps: tuple[float, float]) -> Node:
    """The same reading, each so many seconds after the one before and the clock set by so much."""
    node = Node()
    oldest = process(1, "ada", start_time=START - 60.0)
    one = view(BUSY_AT_HALF, processes=(oldest,), owners=(job("1", "ada"),))
    for after, set_by in ((0.0, 0.0), (10.0, 0.0), *steps):
        node.read(one, after=after, set_by=set_by)
    return node


@pytest.mark.parametrize("set_by", [-7200.0, -45.0, -10.0, -7.0, 45.0, 1800.0, 86400.0])
@pytest.mark.parametrize("window_s", [None, 3600.0, 600.0])
def test_what_is_counted_is_the_same_however_the_clock_is_set(
    set_by: float, window_s: float | None
) -> None:
    usage = timed((10.0, set_by), (10.0, 0.0)).usage_report(window_s=window_s)
    assert usage.total is not None
    assert usage.seconds == 30.0
    assert (usage.total.device_seconds, usage.total.unseen_seconds) == (30.0, 0.0)
    assert usage.total.energy_kwh == pytest.approx(360 * 30 / 3.6e6)
    assert (usage.since, usage.until) == (
        timestamp(START + set_by),
        timestamp(START + 30.0 + set_by),
    )
    (row,) = usage.rows
    assert (row.counted_since, row.last_seen) == (usage.since, usage.until)
    assert row.holds_now


def test_a_clock_that_is_set_again_and_again_adds_up() -> None:
    node = timed((10.0, -7200.0), (10.0, 3600.0), (10.0, 90000.0), (10.0, -4000.0))
    assert (node.usage_report(window_s=None).seconds, node.total(None).device_seconds) == (
        50.0,
        50.0,
    )


def test_what_was_counted_is_as_long_ago_as_before_the_clock_was_set() -> None:
    node = timed((3000.0, -7200.0))
    assert node.total(600.0).unseen_seconds == pytest.approx(600.0, abs=60.0)
    assert node.total(3600.0).device_seconds == 10.0
    node.read(view(BUSY_AT_HALF), after=1200.0, set_by=86400.0)
    assert node.total(3600.0).device_seconds == 0.0
    assert node.total(None).device_seconds == 10.0


def test_when_a_job_started_is_reported_by_the_current_clock() -> None:
    node = timed()
    node.read(view(BUSY_AT_HALF, owners=(job("1", "ada"),)), after=10.0, set_by=86400.0)
    assert node.row("ada").began == timestamp(START - 60.0 + 86400.0)


@pytest.mark.parametrize(("set_by", "since"), [(0.9, START), (-0.9, START), (1.0, START + 1.0)])
def test_a_clock_that_is_steered_moves_nothing(set_by: float, since: float) -> None:
    assert timed((10.0, set_by)).usage_report(window_s=None).since == timestamp(since)


def test_a_clock_that_goes_back_a_little_between_two_looks_leaves_no_end_before_the_beginning() -> (
    None
):
    node = Node().read(view(BUSY_AT_HALF), set_by=0.0)
    node.read(view(BUSY_AT_HALF), after=0.1, set_by=-0.3)
    usage_report = node.usage_report(window_s=None)
    assert usage_report.seconds == pytest.approx(0.1)


def test_without_a_monotonic_time_a_jump_ahead_is_unseen() -> None:
    one = view(BUSY_AT_HALF)
    node = Node().read(one).read(one, after=1000.0, set_by=0.0).read(one, after=1000.0)
    assert (node.total().unseen_seconds, node.usage_report().seconds) == (2000.0, 2000.0)


def test_nothing_counted_yet_is_reported() -> None:
    usage_report = Node().usage_report()
    assert (usage_report.rows, usage_report.total, usage_report.notes) == (
        (),
        None,
        ("nothing was counted yet",),
    )
    assert (usage_report.since, usage_report.until, usage_report.seconds) == (None, None, 0.0)
    assert summary(usage_report) == "no device was seen"
