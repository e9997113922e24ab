"""The annotation of a node that we hold: whose, for what, since when, and what was there before. Pure.

It is written in one patch with the taint, so that neither stands there without the other. It names the
object that it was written on: an annotation that a backup has brought back to another one is nobody's.
"""

import json
import re
from functools import lru_cache

import msgspec

from accelwatch.action.intent import OwnerAnnotation
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_kubernetes.objects.node import Node, Taint

HOLD = "accelwatch.io/hold"
DRAWN = "accelwatch.io/drawn"
# Kubernetes, non-graceful node shutdown: pods there are deleted by force, and their volumes detached.
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
OUT_OF_SERVICE_EFFECT = "NoExecute"
# A taint's value has to be a label's value (apimachinery, validation.LabelValueMaxLength).
_MOST_VALUE = 63
_KEPT = re.compile(r"[^A-Za-z0-9_.\-]+")


class AnnotationValue(msgspec.Struct, frozen=True, kw_only=True):
    """What each annotation of ours says: for what, by whom, since when."""

    incident: str
    # Of the engine that wrote it; one with a greater one is never changed.
    token: int
    by: str
    # Unix seconds, by our clock.
    since: float

    @property
    def owner(self) -> OwnerAnnotation:
        """In the words of the contract."""
        return OwnerAnnotation(self.incident, self.token, self.by)

    def text(self) -> str:
        """As it stands in the annotation."""
        return json.dumps(msgspec.to_builtins(self), separators=(",", ":"))


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """How the node was before we held it; for people, and for who repairs by hand."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class Hold(AnnotationValue, frozen=True, kw_only=True):
    """What the annotation of a node that we hold says."""

    rule: str = ""
    reason: str = ""
    # Of the node object.
    uid: str = ""
    # Key of the taint that was set with it: the options may name another one by now.
    taint: str = ""
    # And its effect: a taint of the same key with another one is not ours. Empty in holds that
    # were set before it was noted.
    effect: str = ""
    cordoned_by_us: bool = False
    # With which proof we have tainted the node out of service; absent while we have not.
    out_of_service: str | msgspec.UnsetType = msgspec.UNSET
    before: Before = Before()

    def taints_on(self, node: Node) -> list[Taint]:
        """What stands on a node of the taint that was set with it, PreferNoSchedule included.

        A server keeps one taint of a key and an effect. Where none has the effect that was sent, an
        admission webhook may have changed it: then all of the key that were not there before.
        """
        before = {_key_and_effect(taint) for taint in self.before.taints}
        ours = [
            taint
            for taint in node.spec.taints
            if taint.get("key") == self.taint and _key_and_effect(taint) not in before
        ]
        return [taint for taint in ours if taint.get("effect") == self.effect] or ours

    def all_taints_on(self, node: Node) -> list[Taint]:
        """Of a node all taints that are ours by this annotation."""
        return [
            *self.taints_on(node),
            *(out_of_service_taints(node) if self.out_of_service else []),
        ]


class Drawn(AnnotationValue, frozen=True, kw_only=True):
    """What the annotation of a spare in use says."""

    job: str = ""
    uid: str = ""


def hold_of(node: Node) -> Hold | None:
    """What the annotation says; None without one, and for one that is of another object."""
    hold = _hold_in(node.metadata.annotations.get(HOLD, ""))
    return hold if hold is not None and hold.uid == node.metadata.uid else None


def drawn_of(node: Node) -> Drawn | None:
    """For whom a spare was drawn; None for one that is idle, and for what is of another object."""
    drawn = _drawn_in(node.metadata.annotations.get(DRAWN, ""))
    return drawn if drawn is not None and drawn.uid == node.metadata.uid else None


def out_of_service_taints(node: Node) -> list[Taint]:
    """Those on which the cluster replaces pods, and of which we set one; other effects do nothing."""
    return [
        taint
        for taint in node.spec.taints
        if _key_and_effect(taint) == (OUT_OF_SERVICE, OUT_OF_SERVICE_EFFECT)
    ]


def _key_and_effect(taint: Taint) -> tuple[object, object]:
    return taint.get("key"), taint.get("effect")


# By the text, so an entry is never out of date: another text is another key.
@lru_cache(maxsize=8192)
def _hold_in(text: str) -> Hold | None:
    try:
        return msgspec.json.decode(text, type=Hold) if text else None
    except DECODE_ERRORS:
        return None


# Read at each look at a node, and seldom changed; bounded, for annotations come and go.
@lru_cache(maxsize=1024)
def _drawn_in(text: str) -> Drawn | None:
    try:
        return msgspec.json.decode(text, type=Drawn) if text else None
    except DECODE_ERRORS:
        return None


def label_value(text: str) -> str:
    """A text as the value of a label or taint; empty where nothing of it is left."""
    return _KEPT.sub("_", text)[:_MOST_VALUE].strip("_.-")
