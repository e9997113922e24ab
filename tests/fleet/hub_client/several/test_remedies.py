"""What several hubs do as one page, and a person's word at the hub that it is about."""

import asyncio
from collections.abc import Sequence

import pytest

from accelwatch.base.errors import AccelwatchError, UncertainError, UnmetError
from accelwatch.fleet.documents.remedies import NoteDocument
from accelwatch.fleet.hub_client.several.hub_picture import hub_picture_of
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.hub_client.several.remedies import SeveralRemedies
from accelwatch.fleet.hub_client.several.requests.routes import Routes
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.picture.remedies import STOP, Command
from support.dashboards.fleets import FedRemedies, fleet_view
from support.incidents.remedy_documents import answered, page, plan, remedy, stopped, veto

QUARANTINE = Command(verb="quarantine", node="n002", reason="dead")


def several(sources: Sequence[FedRemedies], *views: FleetView) -> SeveralRemedies:
    picture = SeveralPicture([f"pod-{number}" for number in range(1, len(sources) + 1)])
    if views:
        picture.view({hub: hub_picture_of(view, 0.0) for hub, view in enumerate(views)}, "", {})
    return SeveralRemedies(sources, picture, Routes(picture, lambda: views))


def test_one_page_of_all_hubs_that_act() -> None:
    first = FedRemedies(page(remedy("n001", "draining", "i1"), vetoes=(veto("n003"),)))
    second = FedRemedies(stopped(remedy("n001", "failed", "i1")))
    third = FedRemedies(page(remedy("n009", "draining", "i4"), acts=False))
    view = fleet_view(3)
    # Both hubs follow n001, by the same devices; the third hub has no nodes.
    source = several((first, second, third), view, view)
    shown = source.page()
    assert shown is not None
    assert shown.acts
    assert [(one.node, one.incident, one.incidents) for one in shown.remedies] == [
        ("n001", "i1@pod-1", ("i1@pod-1",)),
        ("n001", "i1@pod-2", ("i1@pod-2",)),
    ]
    assert [budget.group for budget in shown.budgets] == ["pool=train@pod-1", "pool=train@pod-2"]
    assert (shown.stopped_by, shown.stopped_why) == ("pod-2: kim", "pod-2: too much at once")
    assert shown.ceiling == "resume"
    assert [one.node for one in shown.vetoes] == ["n003"]
    assert source.page() is shown
    first.current = page()
    assert source.page() is not shown


def test_there_is_no_page_while_no_hub_has_one() -> None:
    source = several((FedRemedies(), FedRemedies()))
    assert source.page() is None
    assert source.problem() == ""


def test_what_is_wrong_names_its_hub() -> None:
    first, second = FedRemedies(page()), FedRemedies(page())
    second.trouble = "remedies: broken"
    assert several((first, second)).problem() == "pod-2: remedies: broken"


def test_a_word_goes_to_the_hub_that_does_something_about_the_node() -> None:
    first, second = FedRemedies(page()), FedRemedies(page(remedy("n002", "failed", "i1")))
    second.answer = answered("n002 is taken out", remedy("n002", "draining", "i1"))
    view = fleet_view(3)
    source = several((first, second), view, view)
    answer = asyncio.run(source.send_command(QUARANTINE))
    assert (first.commands, second.commands) == ([], [QUARANTINE])
    assert [note.text for note in answer.notes] == ["pod-2: n002 is taken out"]
    assert answer.remedy is not None
    assert answer.remedy.incident == "i1@pod-2"
    second.shown_plan = plan()
    assert asyncio.run(source.plan("n002")).node == "n002"


def test_of_hubs_that_do_nothing_about_it_the_one_that_acts_gets_the_request() -> None:
    first, second = FedRemedies(page(acts=False)), FedRemedies(page())
    view = fleet_view(3)
    asyncio.run(several((first, second), view, view).send_command(QUARANTINE))
    assert (first.commands, second.commands) == ([], [QUARANTINE])


def test_a_node_of_no_hub_is_refused() -> None:
    source = several((FedRemedies(page()), FedRemedies(page())), fleet_view(1), fleet_view(1))
    with pytest.raises(UnmetError, match="no hub has a node 'n002'"):
        asyncio.run(source.send_command(QUARANTINE))


def test_a_stop_goes_to_every_hub_that_acts() -> None:
    hubs = FedRemedies(page()), FedRemedies(page()), FedRemedies(page(acts=False))
    hubs[0].answer = answered("everything is stopped")
    stop = Command(verb=STOP, reason="fire")
    answer = asyncio.run(several(hubs).send_command(stop))
    assert [hub.commands for hub in hubs] == [[stop], [stop], []]
    assert answer.notes == (
        NoteDocument(text="pod-1: everything is stopped", node="", incident=""),
    )


def test_a_stop_goes_to_a_hub_that_was_never_seen() -> None:
    first, second = FedRemedies(page()), FedRemedies()
    second.answer = AccelwatchError("it does not count: no answer")
    stop = Command(verb=STOP, reason="fire")
    with pytest.raises(AccelwatchError, match="pod-1: done; pod-2: it does not count: no answer"):
        asyncio.run(several((first, second), fleet_view(1)).send_command(stop))
    assert (first.commands, second.commands) == ([stop], [stop])


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (AccelwatchError("it does not count: no"), AccelwatchError),
        (UncertainError("unknown whether it was accepted: slow"), UncertainError),
    ],
)
def test_a_stop_that_one_hub_does_not_take_says_what_the_others_did(
    error: AccelwatchError, kind: type[AccelwatchError]
) -> None:
    first, second = FedRemedies(page()), FedRemedies(page())
    second.answer = error
    with pytest.raises(kind, match=f"pod-1: done; pod-2: {error}") as raised:
        asyncio.run(several((first, second)).send_command(Command(verb=STOP, reason="fire")))
    assert type(raised.value) is kind


def test_a_stop_does_not_pass_over_a_hub_of_which_nothing_is_known() -> None:
    first, second, third = FedRemedies(page()), FedRemedies(), FedRemedies()
    second.trouble = "remedies: no answer"
    stop = Command(verb=STOP, reason="fire")
    view = fleet_view(1)
    asyncio.run(several((first, second, third), view, view, view).send_command(stop))
    # The third answers, and has no remedies.
    assert [hub.commands for hub in (first, second, third)] == [[stop], [stop], []]
