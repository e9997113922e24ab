"""The targets that are followed: by key, the node of each and what it has said."""

from collections.abc import Callable, Iterable

from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.table.columns import ColumnStore
from accelwatch.fleet.target import Target


class TargetSources:
    """Sources of targets; a target that stays keeps its source, also under another node."""

    def __init__(self, columns: ColumnStore) -> None:
        self._columns = columns
        self._by_key: dict[str, tuple[Node, TargetSource]] = {}
        self._verified = True

    def get(self, key: str) -> tuple[Node, TargetSource] | None:
        """Node and source of a target; None when it is none any more."""
        return self._by_key.get(key)

    def replace(self, targets: Iterable[Target], node_of: Callable[[str], Node]) -> None:
        """These are the targets from now on; their sources are added to their nodes."""
        before, self._by_key = self._by_key, {}
        for target in targets:
            node = node_of(target.node)
            _, source = before.get(target.key, (None, None))
            if source is None:
                source = TargetSource(target, self._columns)
                source.verified = self._verified
            if source.target.labels != target.labels:
                node.shape += 1
            source.target = target
            node.sources[target.key] = source
            self._by_key[target.key] = node, source

    def verify(self, verified: bool) -> bool:
        """Whether the certificates of targets are verified from now on; returns whether that is new."""
        if verified == self._verified:
            return False
        self._verified = verified
        for _, source in self._by_key.values():
            source.verified = verified
        return True
