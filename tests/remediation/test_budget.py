"""The budget of quarantines: bounds, what counts, reserve, spend and give back, and the pace."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.failure_domains import (
    NO_POOL,
    FailureDomain,
    GroupCounts,
    count_groups,
)
from accelwatch.remediation.policy.guards.limits.budget import (
    BudgetState,
    adopt,
    bound,
    exceeded,
    give_back,
    has_room,
    may_be_out,
    may_reserve,
    reserve,
    spend,
)
from accelwatch.remediation.policy.guards.limits.pace import free_at, within
from accelwatch.remediation.settings import Budget

HOUR = 3600.0
# So that only the bounds count.
FAST = Budget(per_hour=1000, spacing_s=0.0)


def domains(count: int, racks: int = 1000, pool: str = "train") -> list[FailureDomain]:
    pools = (pool,) if pool else ()
    return [
        FailureDomain(node=f"n{at}", pools=pools, domains=(f"rack=r{at % racks}",))
        for at in range(count)
    ]


def taken(
    state: BudgetState,
    chosen: list[FailureDomain],
    every: list[FailureDomain],
    budget: Budget = FAST,
) -> BudgetState:
    for domain in chosen:
        state, answer = reserve(
            state, domain, f"i-{domain.node}", count_groups(every, ()), now=0.0, budget=budget
        )
        assert answer == PERMIT
    return state


def why(answer: Answer) -> DenialKind | None:
    return answer.why if isinstance(answer, Denial) else None


@pytest.mark.parametrize(
    ("size", "most"),
    [(1, 1), (3, 1), (20, 1), (39, 1), (40, 2), (60, 3), (199, 9), (200, 10), (10_000, 10)],
)
def test_of_a_pool_five_percent_at_most_ten_and_at_least_one_are_ours(size: int, most: int) -> None:
    assert bound(size, Budget()) == most


@pytest.mark.parametrize(
    ("size", "out"), [(1, 1), (3, 1), (20, 2), (9, 1), (30, 3), (1500, 150), (10, 1)]
)
def test_a_tenth_of_a_pool_may_be_out_and_of_a_small_one_a_node(size: int, out: int) -> None:
    assert may_be_out(size, Budget()) == out


def test_the_small_pool_rule_ends_where_the_pool_is_not_small() -> None:
    tight = Budget(min_available=0.99, share=0.01)
    assert (may_be_out(20, tight), may_be_out(21, tight)) == (1, 0)


def test_one_bad_node_of_three_is_acted_upon_and_no_second() -> None:
    three = domains(3)
    state = taken(BudgetState(), three[:1], three)
    _, answer = reserve(state, three[1], "i2", count_groups(three, ()), now=0.0, budget=FAST)
    assert isinstance(answer, Denial)
    assert answer.why is DenialKind.BUDGET
    assert "1 nodes of pool train are quarantined by us; 1 may be" in answer.text


def test_a_reservation_counts_before_it_is_spent_and_after() -> None:
    three = domains(3)
    state = taken(BudgetState(), three[:1], three)
    for counted in (state, spend(state, "n0")):
        answer = may_reserve(counted, three[1], count_groups(three, ()), now=0.0, budget=FAST)
        assert why(answer) is DenialKind.BUDGET


def test_the_bound_of_a_rack_counts_beside_that_of_the_pool() -> None:
    every = domains(200, racks=10)
    state = taken(BudgetState(), every[:1], every)
    beside = every[10]
    assert beside.domains == every[0].domains
    answer = may_reserve(state, beside, count_groups(every, ()), now=0.0, budget=FAST)
    assert isinstance(answer, Denial)
    assert (answer.why, "rack=r0" in answer.text) == (DenialKind.DOMAIN_BUDGET, True)
    assert may_reserve(state, every[1], count_groups(every, ()), now=0.0, budget=FAST) == PERMIT


def test_every_pool_of_a_node_counts() -> None:
    both = FailureDomain(node="x", pools=("big", "small"))
    every = [
        both,
        *(FailureDomain(node=f"b{at}", pools=("big",)) for at in range(99)),
        *(FailureDomain(node=f"s{at}", pools=("small",)) for at in range(3)),
    ]
    state = taken(BudgetState(), [every[-1]], every)
    answer = may_reserve(state, both, count_groups(every, ()), now=0.0, budget=FAST)
    assert isinstance(answer, Denial)
    assert "pool small" in answer.text
    assert may_reserve(state, every[1], count_groups(every, ()), now=0.0, budget=FAST) == PERMIT


def test_nodes_without_a_pool_are_one_pool() -> None:
    every = domains(3, pool="")
    assert every[0].all_pools == (NO_POOL,)
    state = taken(BudgetState(), every[:1], every)
    answer = may_reserve(state, every[1], count_groups(every, ()), now=0.0, budget=FAST)
    assert isinstance(answer, Denial)
    assert "the fleet" in answer.text


def test_whoever_took_nodes_out_they_count_for_what_must_be_left() -> None:
    every = domains(40)
    free = may_reserve(
        BudgetState(),
        every[0],
        count_groups(every, ("n1", "n2", "n3")),
        now=0.0,
        budget=FAST,
    )
    full = may_reserve(
        BudgetState(),
        every[0],
        count_groups(every, ("n1", "n2", "n3", "n4")),
        now=0.0,
        budget=FAST,
    )
    assert free == PERMIT
    assert isinstance(full, Denial)
    assert full.why is DenialKind.AVAILABLE
    assert "4 of 40 nodes of pool train are out" in full.text


def test_our_own_nodes_count_there_too_and_once() -> None:
    every = domains(40)
    state = taken(BudgetState(), every[:1], every)
    for out, answer in ((("n0", "n1", "n2"), None), (("n1", "n2", "n3"), DenialKind.AVAILABLE)):
        answered = may_reserve(state, every[9], count_groups(every, out), now=0.0, budget=FAST)
        assert why(answered) is answer


def test_a_node_that_is_out_already_is_not_missed_more() -> None:
    every = domains(40)
    out = ("n1", "n2", "n3", "n4")
    assert (
        may_reserve(BudgetState(), every[1], count_groups(every, out), now=0.0, budget=FAST)
        == PERMIT
    )


def test_a_node_of_which_the_census_knows_nothing_is_a_pool_of_one() -> None:
    nobody = GroupCounts(sizes={}, out={})
    stranger = FailureDomain(node="x", pools=("p",))
    state, answer = reserve(BudgetState(), stranger, "i", nobody, now=0.0, budget=FAST)
    assert answer == PERMIT
    other = FailureDomain(node="y", pools=("p",))
    assert why(may_reserve(state, other, nobody, now=0.0, budget=FAST)) is DenialKind.BUDGET


def test_a_node_that_several_incidents_want_out_counts_once_and_until_the_last() -> None:
    every = domains(3)
    state = taken(BudgetState(), every[:1], every)
    for incident in ("second", "second"):
        state, answer = reserve(
            state, every[0], incident, count_groups(every, ()), now=0.0, budget=Budget()
        )
        assert answer == PERMIT
    assert state.own["n0"].incidents == ("i-n0", "second")
    assert state.quarantined("pool=train") == {"n0"}
    state = give_back(state, "n0", "i-n0")
    assert state.quarantined("pool=train") == {"n0"}
    assert give_back(state, "n0", "second").own == {}


def test_giving_back_what_is_not_there_changes_nothing() -> None:
    every = domains(3)
    state = taken(BudgetState(), every[:1], every)
    assert give_back(state, "n1", "i-n0") is state
    assert give_back(state, "n0", "another") is state


def test_only_a_reserved_node_can_be_spent() -> None:
    with pytest.raises(KeyError):
        spend(BudgetState(), "n0")


def test_three_an_hour_and_one_every_two_minutes() -> None:
    every = domains(400)
    counted = count_groups(every, ())
    state = BudgetState()
    started = []
    for tick in range(0, 7200, 30):
        domain = every[tick // 30]
        state, answer = reserve(state, domain, f"i{tick}", counted, now=tick, budget=Budget())
        if answer == PERMIT:
            started.append(tick)
    assert started == [0, 120, 240, 3600, 3720, 3840]


@pytest.mark.parametrize(
    ("now", "until", "text"),
    [(119.0, 120.0, "less than 120 s ago"), (500.0, 3600.0, "3 quarantines of pool train")],
)
def test_a_denial_for_the_pace_says_when_to_ask_again(now: float, until: float, text: str) -> None:
    every = domains(400)
    budget = Budget(per_hour=3 if now > 200 else 9)
    state = BudgetState()
    for at in (0.0, 120.0, 240.0):
        if at <= now:
            state, _ = reserve(
                state, every[int(at)], f"i{at}", count_groups(every, ()), now=at, budget=budget
            )
    answer = may_reserve(state, every[399], count_groups(every, ()), now=now, budget=budget)
    assert isinstance(answer, Denial)
    assert (answer.why, answer.until) == (DenialKind.RATE, until)
    assert text in answer.text


def test_the_pace_is_that_of_a_pool() -> None:
    train, serve = (
        domains(100),
        [FailureDomain(node=f"s{at}", pools=("serve",)) for at in range(100)],
    )
    counted = count_groups([*train, *serve], ())
    state, _ = reserve(BudgetState(), train[0], "a", counted, now=0.0, budget=Budget())
    assert why(may_reserve(state, train[1], counted, now=1.0, budget=Budget())) is DenialKind.RATE
    assert may_reserve(state, serve[1], counted, now=1.0, budget=Budget()) == PERMIT


def test_a_spacing_of_more_than_an_hour_is_kept() -> None:
    every = domains(200)
    counted = count_groups(every, ())
    slow = Budget(spacing_s=3 * HOUR)
    state, _ = reserve(BudgetState(), every[0], "a", counted, now=0.0, budget=slow)
    denied = may_reserve(state, every[1], counted, now=2 * HOUR, budget=slow)
    assert isinstance(denied, Denial)
    assert denied.until == 3 * HOUR
    state, answer = reserve(state, every[1], "b", counted, now=3 * HOUR, budget=slow)
    assert answer == PERMIT
    assert state.begun == {"train": (3 * HOUR,)}


def test_what_was_reserved_and_never_started_gives_its_share_of_the_pace_back() -> None:
    every = domains(200)
    counted = count_groups(every, ())
    state, _ = reserve(BudgetState(), every[0], "a", counted, now=0.0, budget=Budget())
    freed = give_back(state, "n0", "a")
    assert freed == BudgetState()
    assert may_reserve(freed, every[1], counted, now=1.0, budget=Budget()) == PERMIT
    spent = give_back(spend(state, "n0"), "n0", "a")
    assert why(may_reserve(spent, every[1], counted, now=1.0, budget=Budget())) is DenialKind.RATE


def test_one_of_two_shares_of_the_same_time_is_given_back() -> None:
    every = domains(200)
    state = taken(BudgetState(), every[:2], every)
    assert give_back(state, "n0", "i-n0").begun == {"train": (0.0,)}


def test_a_node_found_with_our_mark_counts_beyond_the_bound() -> None:
    every = domains(3)
    counted = count_groups(every, ())
    state = adopt(BudgetState(), every[0], "a", 5.0)
    state = adopt(adopt(state, every[1], "b", 5.0), every[1], "b", 9.0)
    assert state.quarantined("pool=train") == {"n0", "n1"}
    assert (state.own["n1"].incidents, state.own["n1"].at) == (("b",), 5.0)
    (over,) = exceeded(state, counted, Budget())
    assert (over.why, "2 nodes of pool train" in over.text) == (DenialKind.BUDGET, True)
    assert state.begun == {}
    assert give_back(state, "n0", "a").quarantined("pool=train") == {"n1"}


def test_a_node_found_with_our_mark_gives_back_nobody_else_s_share_of_the_rate() -> None:
    every = domains(200)
    state = taken(BudgetState(), every[:1], every)
    found = adopt(state, every[1], "b", state.own["n0"].at)
    assert give_back(found, "n1", "b").begun == state.begun == {"train": (0.0,)}


def test_what_is_within_the_bound_is_not_exceeded() -> None:
    every = domains(200, racks=10)
    state = taken(BudgetState(), every[:10], every)
    assert exceeded(state, count_groups(every, ()), Budget()) == ()
    shrunk = exceeded(state, count_groups(every[:40], ()), Budget())
    assert [denial.why for denial in shrunk] == [DenialKind.BUDGET]
    gone = adopt(adopt(BudgetState(), every[0], "a", 0.0), every[10], "b", 0.0)
    kinds = {denial.why for denial in exceeded(gone, GroupCounts(sizes={}, out={}), Budget())}
    assert kinds == {DenialKind.BUDGET, DenialKind.DOMAIN_BUDGET}


def test_the_state_can_be_written_down() -> None:
    every = domains(3)
    state = taken(BudgetState(), every[:1], every)
    assert msgspec.json.decode(msgspec.json.encode(state), type=BudgetState) == state


@pytest.mark.parametrize(
    ("times", "now", "free"),
    [
        ((), 5.0, 5.0),
        ((1.0,), 5.0, 5.0),
        ((1.0, 2.0), 5.0, 11.0),
        ((1.0, 2.0), 10.9, 11.0),
        ((1.0, 2.0), 11.0, 11.0),
        ((9.0, 1.0, 3.0), 10.0, 13.0),
        ((99.0, 98.0), 5.0, 108.0),
    ],
)
def test_two_in_ten_seconds(times: tuple[float, ...], now: float, free: float) -> None:
    assert free_at(times, now, 2, 10.0) == free


def test_what_is_exactly_as_long_ago_counts_no_more() -> None:
    assert within((0.0, 10.0, 5.0), 10.0, 10.0) == (5.0, 10.0)


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "spend", "give_back"]),
        st.integers(0, 29),
        st.integers(0, 2),
        st.integers(0, 600),
    ),
    max_size=60,
)


@given(_STEPS, st.sampled_from([Budget(), FAST]))
def test_what_we_hold_and_have_reserved_never_exceeds_the_budget(
    steps: list[tuple[str, int, int, int]], budget: Budget
) -> None:
    every = [
        FailureDomain(node=f"n{at}", pools=("a", "b")[at % 2 :], domains=(f"rack=r{at // 8}",))
        for at in range(30)
    ]
    counted = count_groups(every, ())
    state, now = BudgetState(), 0.0
    for what, at, incident, passed in steps:
        now += passed
        domain = every[at]
        if what == "reserve":
            state, _ = reserve(state, domain, f"i{incident}", counted, now=now, budget=budget)
        elif what == "give_back":
            state = give_back(state, domain.node, f"i{incident}")
        elif domain.node in state.own:
            state = spend(state, domain.node)
        for group, size in counted.sizes.items():
            assert len(state.quarantined(group)) <= bound(size, budget)
        for times in state.begun.values():
            assert len(within(times, now, HOUR)) <= budget.per_hour


def test_a_group_has_the_nodes_that_its_failure_domains_name() -> None:
    several = [
        FailureDomain(node="n1", pools=("train", "debug"), domains=("rack=r1",)),
        FailureDomain(node="n2", domains=("rack=r1", "pool=odd")),
        FailureDomain(node="n3", pools=("train",), domains=("rack=r2",)),
    ]
    state = BudgetState()
    for domain in several:
        state = adopt(state, domain, "i1", 0.0)
    groups = {group for domain in several for group in domain.groups}
    for group in groups:
        expected = {domain.node for domain in several if group in domain.groups}
        assert state.quarantined(group) == expected
    assert state.quarantined("rack=r9") == state.quarantined("pool=none") == frozenset()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("reserve", "spend", "adopt", "elsewhere", "give back")),
            st.integers(0, 4),
            st.sampled_from(("i1", "i2")),
        )
    )
)
def test_who_is_ours_is_counted_as_if_anew_whatever_was_done(
    done: list[tuple[str, int, str]],
) -> None:
    every, others = domains(5, racks=2), domains(5, racks=3, pool="other")
    state, counted = BudgetState(), count_groups(every, ())
    for what, at, incident in done:
        domain = every[at]
        if what == "reserve":
            state, _ = reserve(state, domain, incident, counted, now=1.0, budget=FAST)
        elif what == "adopt":
            state = adopt(state, domain, incident, 1.0)
        elif what == "elsewhere":
            state = adopt(state, others[at], incident, 1.0)
        elif what == "give back":
            state = give_back(state, domain.node, incident)
        elif domain.node in state.own:
            state = spend(state, domain.node)
        anew = BudgetState(own=state.own)
        assert {group: nodes for group, nodes in state.by_group.items() if nodes} == anew.by_group


def test_fewer_than_may_be_are_never_too_many() -> None:
    assert free_at((5.0, 9.0), 10.0, 3, HOUR) == 10.0
    assert free_at((5.0, 9.0), 10.0, 2, HOUR) == 5.0 + HOUR


def test_a_node_that_is_counted_needs_room_beside_the_others_only() -> None:
    every = domains(20)
    counted = taken(BudgetState(), every[:1], every)
    assert has_room(counted, every[0], count_groups(every, ()), Budget()) == PERMIT
    assert why(has_room(counted, every[1], count_groups(every, ()), Budget())) is DenialKind.BUDGET


def test_a_node_that_was_adopted_beyond_the_bound_has_no_room() -> None:
    every = domains(20)
    beyond = adopt(taken(BudgetState(), every[:1], every), every[1], "i9", 0.0)
    assert why(has_room(beyond, every[1], count_groups(every, ()), Budget())) is DenialKind.BUDGET


def test_room_is_requested_whatever_the_pace() -> None:
    every = domains(60)
    counted = taken(BudgetState(), every[:1], every)
    slow = Budget(spacing_s=3600.0)
    assert has_room(counted, every[1], count_groups(every, ()), slow) == PERMIT
    answer = may_reserve(counted, every[1], count_groups(every, ()), now=0.0, budget=slow)
    assert why(answer) is DenialKind.RATE
