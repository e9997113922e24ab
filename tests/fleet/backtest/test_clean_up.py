"""What a job leaves behind on its nodes when it ends is no fault of theirs."""

from support.archives.synthetic_fleet import Fault

from .conftest import AT, Play


def test_a_link_error_is_reported_and_what_the_end_of_its_job_leaves_is_part_of_it(
    play: Play,
) -> None:
    played = play(Fault("nvlink", 5, AT, 30.0, 2), Fault("cleaned_up", 5, AT + 6))
    [line] = played.lines
    assert (line.level, line.node) == ("alert", played.fleet.names[5])
    assert line.rule.startswith("nvidia.xid.nvlink")


def test_a_job_that_its_user_ended_is_one_note_about_no_node(play: Play) -> None:
    played = play(Fault("cleaned_up", 5, AT))
    [line] = played.lines
    assert (line.level, line.scope, line.rule) == ("info", "group", "nvidia.xid.follow_up")
    assert len(line.nodes) == played.fleet.workers
    assert line.advice in ("none", "wait")


def test_a_job_on_one_node_that_its_user_ended_is_one_note(play: Play) -> None:
    played = play(Fault("cleaned_up", 5, AT, nodes=(5,)))
    [line] = played.lines
    assert (line.level, line.node, line.advice) == ("info", played.fleet.names[5], "none")
