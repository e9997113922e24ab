"""Every event that is told belongs to a kind that rules can name."""

from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.event_match import matcher
from accelwatch.expr.vocabulary.events import EVENT_KINDS
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch_kernel_log.interpreter import PATTERNS
from accelwatch_kernel_log.patterns.pattern import find
from support.machines.samples import FIXTURES

BAD_DAY = FIXTURES / "kernel_log/bad-day/root/dev/kmsg"
KINDS = {name: matcher(EventPattern(name, "", None, True)) for name in EVENT_KINDS if name != "any"}


def kinds_of(code: str) -> list[str]:
    event = ErrorEvent(code=code, category=Category.OTHER, time=0.0, text=code, source="kernel_log")
    return [name for name, matches in KINDS.items() if matches(event)]


def test_events_of_a_bad_day_are_each_of_one_kind() -> None:
    lines = BAD_DAY.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [find(line.partition(";")[2], PATTERNS) for line in lines]
    codes = {match.code for match in found if match is not None}
    assert {"xid_79", "ras_umc", "xe_wedged"} <= codes
    assert {code: kinds_of(code) for code in codes if len(kinds_of(code)) != 1} == {}


def test_messages_that_only_their_pattern_identifies_are_each_of_one_kind() -> None:
    codes = {pattern.code for pattern in PATTERNS if pattern.decide is None}
    assert {"drm_wedged", "file_limit_reached", "machine_check"} <= codes
    assert {code: kinds_of(code) for code in codes if len(kinds_of(code)) != 1} == {}


def test_what_amd_s_driver_says_is_of_its_kind() -> None:
    for code in ("amdgpu_ring_timeout", "hygpu_page_fault", "amdgpu_bad_pages_threshold"):
        assert kinds_of(code) == ["amdgpu"]
    assert kinds_of("ras_umc") == ["ras"]
    assert kinds_of("edac_ue") == ["kernel"]
