"""Settings of `remedy` in hub.yaml; docs/fleet/remedy-settings.md explains them.

Without an action and above a ceiling of `observe` nothing is ever done to a node; every bound here has
a finite default.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import expand, listed
from accelwatch.config.field_types import Path
from accelwatch.remediation import active_tests
from accelwatch.remediation.active_tests import ActiveTestSettings

Name = Annotated[str, Meta(extra={"form": "name"})]
Share = Annotated[float, Meta(ge=0, le=1, extra={"form": "share"})]
Wait = Annotated[float, Meta(ge=0, le=30 * 86_400, extra={"form": "duration"})]
Expiry = Annotated[float, Meta(ge=0, le=86_400, extra={"form": "duration"})]
LEAST_EXPIRY_S = 60.0
ShortDuration = Annotated[float, Meta(ge=0.1, le=3600, extra={"form": "duration"})]
Many = Annotated[int, Meta(ge=0, le=100_000)]
PositiveInt = Annotated[int, Meta(ge=1, le=100_000)]
CeilingName = Literal["observe", "quarantine", "drain", "remedy", "resume"]


class ActionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One scheduler, or one set of scripts, by which is acted."""

    name: Name = ""
    # Name of a plug-in: slurm, kubernetes, script.
    type: str = ""
    # Name of the action whose scheduler has the same machines: a hold is set on both and removed from
    # both. Jobs are this one's.
    also: Name = ""
    # The plug-in's own; a key with `_file` behind it names a file that holds the value.
    options: dict[str, object] = {}


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes may be out, and how fast."""

    # Of the nodes of a pool, and of each domain, that we quarantine at most; one at least.
    share: Share = 0.05
    most: PositiveInt = 10
    # Of the nodes of a pool that stay usable, for whatever reason the others are out.
    min_available: Share = 0.9
    # Of a pool with so many nodes one may be out, whatever the shares say.
    small_pool: Many = 20
    # New quarantines of a pool in any hour.
    per_hour: PositiveInt = 3
    # Between two new quarantines of a pool.
    spacing_s: Wait = field(default=120.0, name="spacing")
    # In each domain.
    remedies_at_once: PositiveInt = 1
    # Remedies for one incident.
    attempts: PositiveInt = 3
    # Of one node.
    remedies_per_week: PositiveInt = 5
    releases_per_minute: PositiveInt = 10
    # Jobs that are cancelled because a rule says so.
    cancels_per_hour: PositiveInt = 3


class Breaker(msgspec.Struct, frozen=True, kw_only=True):
    """What stops new quarantines and remedies until somebody has looked, or half an hour is over."""

    # Incidents within an hour for which there was no budget.
    breaches: PositiveInt = 2
    failures: PositiveInt = 3
    failures_within_s: Wait = field(default=600.0, name="failures_within")
    # How often people undo what was done.
    overrides: PositiveInt = 2
    overrides_within_s: Wait = field(default=3600.0, name="overrides_within")
    # After that one node is tried.
    half_open_after_s: Wait = field(default=1800.0, name="half_open_after")


class DataGuard(msgspec.Struct, frozen=True, kw_only=True):
    """When too little is known to do anything new."""

    # Of the agents; a single one of several never counts.
    silent: Share = 0.2
    late_s: ShortDuration = field(default=1.0, name="late")
    # So many late ticks, one after another.
    late_ticks: PositiveInt = 3
    # By how much the hub's clock may run apart from its own count of seconds between two ticks.
    clock_jump_s: ShortDuration = field(default=5.0, name="clock_jump")
    # How long all must be well before anything new is done.
    calm_s: Wait = field(default=60.0, name="calm")
    startup_grace_s: Wait = field(default=120.0, name="startup_grace")


class Resume(msgspec.Struct, frozen=True, kw_only=True):
    """How often a job is restarted without a person."""

    most: Many = 3
    within_s: Wait = field(default=6 * 3600.0, name="within")
    # Before the first resume, the second, and so on; the last stays.
    delays_s: tuple[Wait, ...] = field(default=(0.0, 60.0, 120.0, 240.0, 480.0), name="delays")
    # After so long without a failure the delays restart.
    productive_s: Wait = field(default=1800.0, name="productive")
    # So many deaths at one step without a fault of a device are the job's own.
    same_step: PositiveInt = 2
    # Whether a job is requeued that its user forbade to be.
    force_requeue: bool = False


class SpareSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that wait to stand in for others."""

    # By the scheduler's names, with host ranges: `n[060-063]`.
    nodes: tuple[str, ...] = ()
    # Labels that spare and node must have in common.
    alike: tuple[str, ...] = ("model",)
    # Labels that they had better have in common, the most important first.
    near: tuple[str, ...] = ("rack",)
    # Name of the test by which idle spares are tested; none without it.
    test: Name = ""
    # How long ago a spare may have passed its test; 0: it need not have.
    test_max_age_s: Wait = field(default=0.0, name="test_max_age")

    def names(self) -> tuple[str, ...]:
        """Every node that `nodes` stands for, once. Raises UsageError."""
        texts = (entry for text in self.nodes for entry in listed(text))
        return tuple(dict.fromkeys(name for text in texts for name in expand(text)))


class LinkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Links in messages by which somebody without a login says yes or no to one plan, once."""

    # Those of `alerts.sinks` whose messages have a link; whoever can read them may decide.
    sinks: tuple[str, ...] = ()
    # How long after the request a decision by link counts; LEAST_EXPIRY_S at least.
    expires_s: Expiry = field(default=1800.0, name="expires")
    # Holds the key that links are signed with; else `links.key` in the state folder, made by us.
    key_file: Path | None = None


_UNNAMED_TEST = ActiveTestSettings()


class RemedySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What may be done about incidents, by what, and how much of it."""

    # How far any rule may go.
    ceiling: CeilingName = "observe"
    actions: tuple[ActionSettings, ...] = ()
    # The hub's name of a node to the scheduler's, where nothing else proves that they are one; host
    # ranges are written out.
    nodes: dict[str, str] = {}
    # Label that says to which pool a node belongs, where the scheduler does not.
    pool_label: str = "pool"
    # Labels of what nodes share and lose together.
    domains: tuple[str, ...] = ("rack",)
    # While it is there nothing new is done.
    stop_file: Path = "/etc/accelwatch/STOP"
    # A node with this label is never touched on behalf of a rule.
    no_auto_label: str = "accelwatch_no_auto"
    approval_s: Wait = field(default=1800.0, name="approval_expires")
    # What is older speaks for something, but does not begin anything.
    event_max_age_s: Wait = field(default=600.0, name="event_max_age")
    # How long a node is left alone after a person undid what was done to it.
    override_s: Wait = field(default=4 * 3600.0, name="override_cooldown")
    # A node that is quarantined again within so long after its release has relapsed; 0 for none.
    relapse_s: Wait = field(default=3600.0, name="relapse_within")
    budget: Budget = Budget()
    breaker: Breaker = Breaker()
    data_guard: DataGuard = DataGuard()
    resume: Resume = Resume()
    spares: SpareSettings = SpareSettings()
    # What is known of tests besides that they pass or fail.
    tests: tuple[ActiveTestSettings, ...] = ()
    links: LinkSettings = LinkSettings()

    def __post_init__(self) -> None:
        # Once, for the pairs are read at each decision. `configuration_errors` says what is wrong
        # with them.
        with suppress(UsageError):
            msgspec.structs.force_setattr(self, "nodes", paired_names(self.nodes))

    def test_settings(self, name: str) -> ActiveTestSettings:
        """What is known of a test; nothing of one that is not named."""
        return next((test for test in self.tests if test.name == name), _UNNAMED_TEST)

    @property
    def acts(self) -> bool:
        """Whether anything may ever be done."""
        return bool(self.actions) and self.ceiling != "observe"


def _of_pairs(settings: RemedySettings, names: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """An action is one of two in one pair at most."""
    paired = Counter(action.also for action in settings.actions if action.also)
    for at, action in enumerate(settings.actions):
        if not action.also:
            continue
        key, own = f"actions[{at}].also", action.name or action.type
        if action.also == own or action.also not in names:
            yield key, f"no other action is called {action.also}"
        elif paired[action.also] > 1 or own in paired:
            yield key, f"{action.also} or {own} is in another pair already"


def configuration_errors(settings: RemedySettings) -> Iterator[tuple[str, str]]:
    """What does not fit together, by key within `remedy`."""
    if settings.ceiling != "observe" and not settings.actions:
        yield "ceiling", f"{settings.ceiling} needs something to act by; add it under actions"
    names = Counter(action.name or action.type for action in settings.actions)
    for at, action in enumerate(settings.actions):
        if not action.type:
            yield f"actions[{at}].type", "the name of a plug-in is missing, such as slurm"
        elif names[action.name or action.type] > 1:
            yield f"actions[{at}].name", f"another action is called {action.name or action.type}"
    yield from _of_pairs(settings, names)
    yield from _of_nodes(settings)
    if settings.budget.share > 1 - settings.budget.min_available + 1e-9:
        text = (
            "share and min_available leave no room for each other; together they are at most 100%"
        )
        yield "budget.share", text
    if settings.spares.test and not settings.spares.test_max_age_s:
        yield "spares.test", "say besides how old it may be, such as test_max_age: 24h"
    if settings.spares.test_max_age_s and not settings.spares.test:
        yield "spares.test_max_age", "nothing tests spares; name their test under spares.test"
    yield from active_tests.configuration_errors(settings.tests)
    if settings.links.expires_s < LEAST_EXPIRY_S:
        text = (
            f"a link that is dead after {settings.links.expires_s:g} s cannot be used: the message has "
            "to arrive, be read and the page be looked at; write 1m or more"
        )
        yield "links.expires", text
    if not settings.resume.delays_s:
        yield "resume.delays", "one delay at least, such as 0s"


def paired_names(nodes: Mapping[str, str]) -> dict[str, str]:
    """Pairs of names with their host ranges written out, in order. Raises UsageError.

    `gpu[01-02]: i-gpu[1-2]` stands for `gpu01: i-gpu1` and `gpu02: i-gpu2`.
    """
    pairs: dict[str, str] = {}
    for ours, theirs in nodes.items():
        hub_names, scheduler_names = expand(ours), expand(theirs)
        if len(hub_names) != len(scheduler_names):
            raise UsageError(
                f"{ours} stands for {len(hub_names)} and {theirs} for {len(scheduler_names)}; "
                "write as many on both sides"
            )
        for name in hub_names:
            if name in pairs:
                raise UsageError(f"{name} stands on the left more than once")
        pairs.update(zip(hub_names, scheduler_names, strict=True))
    return pairs


def _of_nodes(settings: RemedySettings) -> Iterator[tuple[str, str]]:
    try:
        paired_names(settings.nodes)
    except UsageError as error:
        yield "nodes", str(error)
    claimed = Counter(settings.nodes.values())
    for ours, theirs in settings.nodes.items():
        if not (ours and theirs):
            yield "nodes", "a name is empty; write the hub's name, a colon, the scheduler's"
        elif claimed[theirs] > 1:
            yield "nodes", f"{theirs} stands for more than one node, {ours} among them"
    try:
        settings.spares.names()
    except UsageError as error:
        yield "spares.nodes", str(error)
    for key, labels in (("domains", settings.domains), ("spares.near", settings.spares.near)):
        if not all(labels) or len(set(labels)) < len(labels):
            yield key, "every label once, and none empty"
