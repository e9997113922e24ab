"""How far anybody can vouch for what was read: the weakest and the strongest of several classes."""

import pytest

from accelwatch.schema.provenance import ORDER, Provenance, provenance_text, strongest, weakest

WELL, PLAIN, EXPORTER = Provenance.AUTHENTICATED, Provenance.PLAIN, Provenance.EXPORTER
STORE, UNKNOWN = Provenance.STORE, Provenance.UNKNOWN


def test_what_needs_several_is_as_weak_as_the_weakest() -> None:
    assert weakest([PLAIN, STORE, EXPORTER]) is STORE
    assert weakest([PLAIN, EXPORTER, WELL]) is EXPORTER
    assert weakest([UNKNOWN, PLAIN]) is UNKNOWN


def test_what_needs_nothing_is_forged_by_nobody() -> None:
    assert weakest(()) is WELL


def test_what_needs_one_of_several_is_as_strong_as_the_strongest() -> None:
    assert strongest([STORE, PLAIN, EXPORTER]) is PLAIN
    assert strongest([UNKNOWN, STORE]) is STORE


@pytest.mark.parametrize("word", ORDER)
def test_each_class_has_its_words(word: Provenance) -> None:
    assert provenance_text(word.value) != word.value
    assert " " in provenance_text(word.value)


def test_a_class_of_a_newer_version_is_shown_as_it_is() -> None:
    assert provenance_text("notarised") == "notarised"
