"""Uuids that more than one node has are reported for as long as more than one has them."""

from hypothesis import given
from hypothesis import strategies as st

from accelwatch.fleet.state.nodes.claims import Claims

NODES, UUIDS = ("n1", "n2", "n3"), frozenset({"a", "b"})


@given(st.lists(st.tuples(st.sampled_from(NODES), st.frozensets(st.sampled_from(sorted(UUIDS))))))
def test_conflicts_are_the_uuids_of_several_nodes(
    changes: list[tuple[str, frozenset[str]]],
) -> None:
    claims = Claims()
    have: dict[str, set[str]] = {node: set() for node in NODES}
    for node, now in changes:
        claims.change(node, have[node], set(now))
        have[node] = set(now)
        several = {uuid: {one for one in NODES if uuid in have[one]} for uuid in UUIDS}
        assert claims.conflicts == {uuid: who for uuid, who in several.items() if len(who) > 1}
