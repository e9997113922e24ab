"""Whom nobody wants to hear of: matchers, silences and windows of maintenance."""

import pytest

from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, matchers
from accelwatch.base.errors import UsageError

LABELS = {"node": "n12", "rule": "nvidia.gpu.lost", "pool": "train,big"}


@pytest.mark.parametrize(
    ("text", "mutes"),
    [
        ("node=n12", True),
        ("node=n1", False),
        ("node!=n1", True),
        ("node!=n12", False),
        ("node=~n1.", True),
        ("node=~n1", False),
        ("node!~n1", True),
        ("node!~n.*", False),
        ("node=n12, rule=~nvidia.*", True),
        ("node=n12,rule=amd.hot", False),
        ("node=n1,rule=nvidia.gpu.lost", False),
        ('node="n12"', True),
        (r"pool=train\,big", True),
        ("rack=", True),
        ("rack!=", False),
    ],
)
def test_all_matchers_must_hold(text: str, mutes: bool) -> None:
    assert all(one.matches(LABELS) for one in matchers(text)) is mutes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "say what to silence"),
        (" , ", "say what to silence"),
        ("n12", "'n12' is not a valid matcher; write node=n12, or name=value, name!=value"),
        ("=n12", "is not a valid matcher; write name=value"),
        ("node=~(a+)+", "could take too long"),
        ("node=~[", "is not closed"),
        (",".join(["a=b"] * 17), "more than 16 matchers"),
    ],
)
def test_what_is_no_matcher_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        matchers(text)


def test_what_is_too_long_to_match_is_not_muted() -> None:
    long = {"node": "n" * 500}
    assert not matchers("node=~n+")[0].matches(long)
    assert not matchers("node!~m+")[0].matches(long)


def test_a_silence_has_a_start_and_an_end() -> None:
    silence = Silence(
        id="s1", matchers=matchers("node=n12"), starts=100.0, ends=200.0, by="me", reason="swap"
    )
    assert [silence.mutes(LABELS, now) for now in (99.9, 100.0, 199.9, 200.0)] == [
        False,
        True,
        True,
        False,
    ]
    assert not silence.mutes({"node": "n13"}, 150.0)


def window(*nodes: str) -> Maintenance:
    return Maintenance(id="m1", nodes=nodes, starts=100.0, ends=200.0, by="me", reason="BIOS")


def test_maintenance_covers_its_nodes_and_no_mixture() -> None:
    assert window("n1", "n2").covers(["n1"], 150.0)
    assert not window("n1", "n2").covers(["n1", "n3"], 150.0)
    assert not window("n1").covers([], 150.0)
    assert not window("n1").covers(["n1"], 200.0)
    assert not window("n1").covers(["n1"], 99.0)


def test_maintenance_without_nodes_covers_everything() -> None:
    assert window().covers(["n1", "n3"], 150.0)
    assert window().covers([], 150.0)


def test_maintenance_takes_host_ranges() -> None:
    assert window("n[1-3]", "r7").covers(["n2", "r7"], 150.0)
    assert not window("n[1-3]").covers(["n4"], 150.0)


def test_who_has_not_proved_who_he_is_is_shown_as_such() -> None:
    assert window("n1").named == "me (unverified)"
    proved = Maintenance(
        id="m1", nodes=(), starts=0.0, ends=1.0, by="ana", reason="BIOS", verified=True
    )
    assert proved.named == "ana"
