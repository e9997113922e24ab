"""Host ranges: what stands for many names, and many names as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.names.host_ranges import collapse, expand, listed

NAMES = st.from_regex(r"[a-z]{1,3}[0-9]{0,4}(-[a-z]{1,2}[0-9]{0,3})?", fullmatch=True)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n7"], "n7"),
        (["n003", "n001", "n002", "n007", "n001"], "n[001-003,007]"),
        (["n9", "n10"], "n10,n9"),
        (["r1n02", "r1n03", "r2n02"], "r1n[02-03],r2n02"),
        (["n1-ib", "n2-ib"], "n[1-2]-ib"),
        (["login", "n1"], "login,n1"),
        (["10.0.0.1", "10.0.0.2"], "10.0.0.[1-2]"),
    ],
)
def test_names_collapse_into_one_range(names: list[str], text: str) -> None:
    assert collapse(names) == text


@given(st.lists(NAMES, max_size=30))
def test_a_collapsed_range_expands_to_the_same_names(names: list[str]) -> None:
    parts = listed(collapse(names))
    assert sorted(name for part in parts for name in expand(part)) == sorted(set(names))
