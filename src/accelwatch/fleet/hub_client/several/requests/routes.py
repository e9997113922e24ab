"""To which hub a request goes: by the node, incident or silence that it names. Pure."""

from collections.abc import Callable, Mapping, Sequence

from accelwatch.alerting.incidents.model.silence import Matcher, Operator
from accelwatch.alerting.incidents.model.silence import matchers as parse_matchers
from accelwatch.base.errors import PartialAnswerError, UnmetError
from accelwatch.fleet.documents.remedies import RemediesPage
from accelwatch.fleet.hub_client.several.names.incident_ids import split_id, with_hub
from accelwatch.fleet.hub_client.several.names.same_objects import same_objects
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.picture.model import FleetView

# Names of a silence's matchers that, with `=`, are about one hub.
_ID, _NODE = "id", "node"


class Routes:
    """By the newest picture; hubs are numbers in the order of the command line."""

    def __init__(
        self, picture: SeveralPicture, views: Callable[[], Sequence[FleetView | None]]
    ) -> None:
        self._picture = picture
        self._views = views
        # Which hubs follow a node, by its name there: recomputed when a view has come.
        self._hubs: dict[str, list[int]] = {}
        self._node_sources: list[object] = []

    @property
    def hubs(self) -> Sequence[str]:
        """The names of the hubs."""
        return self._picture.hubs

    def of_node(self, node: str) -> list[tuple[int, str]]:
        """(hub, own name) of who follows a node, who speaks for it first; empty for no node."""
        owner = self._picture.owner
        hub, own = owner.routes.get(node, (-1, node))
        if node in owner.shared:
            return [(number, own) for number in owner.shared[node]]
        if hub >= 0:
            return [(hub, own)]
        return [(number, node) for number in self._hubs_by_node().get(node, ())]

    def _hubs_by_node(self) -> Mapping[str, list[int]]:
        nodes = [None if view is None else view.nodes for view in self._views()]
        if not same_objects(nodes, self._node_sources):
            self._hubs = {}
            for number, of_hub in enumerate(nodes):
                for now in of_hub or ():
                    self._hubs.setdefault(now.node, []).append(number)
            self._node_sources = list(nodes)
        return self._hubs

    def machine(self, node: str) -> list[tuple[int, str]]:
        """The same of exactly one machine. Raises UnmetError for none, and for several of that name;
        PartialAnswerError where it may be a node of a hub that does not answer.
        """
        matches = self.of_node(node)
        if not matches:
            silent = [name for hub, name in enumerate(self.hubs) if not self.has_answered(hub)]
            if silent:  # it may be there
                text = f"no hub that answers has a node {node[:100]!r}; without an answer: "
                raise PartialAnswerError(text + ", ".join(silent))
            raise UnmetError(f"no hub has a node {node[:100]!r}")
        self._refuse_ambiguous(node, matches)
        return matches

    def _refuse_ambiguous(self, node: str, matches: Sequence[tuple[int, str]]) -> None:
        if len(matches) < 2 or node in self._picture.owner.shared:
            return
        names = [name for name, (_, own) in self._picture.owner.routes.items() if own == node]
        names = names or [with_hub(own, self.hubs[hub]) for hub, own in matches]
        raise UnmetError(
            f"several machines are called {node[:100]!r}: write {' or '.join(sorted(names))}"
        )

    def node(self, node: str) -> tuple[int, str]:
        """(hub, own name) of who speaks for a node. Raises UnmetError."""
        return self.machine(node)[0]

    def acting(self, node: str, pages: Mapping[int, RemediesPage]) -> tuple[int, str]:
        """Of the hubs that follow a node the one that does something about it, else that acts.

        Raises UnmetError.
        """
        matches = self.machine(node)
        busy = [
            (hub, own)
            for hub, own in matches
            if hub in pages and any(remedy.node == own for remedy in pages[hub].remedies)
        ]
        acting = [(hub, own) for hub, own in matches if hub in pages and pages[hub].acts]
        return (busy or acting or matches)[0]

    def has_answered(self, hub: int) -> bool:
        """Whether anything is known of a hub."""
        views = self._views()
        return hub < len(views) and views[hub] is not None

    def entity(self, entity: str) -> list[tuple[int, str]]:
        """The hubs to query about `n12/nvidia3`, `n12`, `job:4711`, `rack:r7`: the node's hub, else all.

        Raises UnmetError for a name of several machines.
        """
        node, slash, device = entity.rpartition("/")
        matches = self.of_node(entity)
        self._refuse_ambiguous(entity, matches)
        if not matches and slash:
            matches = [(hub, f"{own}/{device}") for hub, own in self.of_node(node)]
            self._refuse_ambiguous(node, matches)
        return matches[:1] or [(hub, entity) for hub in range(len(self.hubs))]

    def id(self, id_: str) -> tuple[int, str]:
        """(hub, own id) of an incident, silence or window. Raises UnmetError."""
        matches = split_id(id_, self.hubs)
        if matches is None:
            hubs = ", ".join(self.hubs)
            raise UnmetError(
                f"{id_[:100]!r} does not name its hub ({hubs}), as i7@{self.hubs[0]} does"
            )
        return matches

    def matchers(self, matchers: Sequence[str]) -> list[tuple[int, list[str]]]:
        """Which hubs a silence is for and by what matchers there: all, unless an id or a node is named.

        Raises UnmetError, UsageError.
        """
        for position, text in enumerate(matchers):
            match parse_matchers(text):
                case (Matcher(name, Operator.IS, value),) if name == _ID:
                    matches = [self.id(value)]
                case (Matcher(name, Operator.IS, value),) if name == _NODE:
                    matches = self.machine(value)
                case _:
                    continue
            others = [*matchers[:position], *matchers[position + 1 :]]
            return [(hub, [str(Matcher(name, Operator.IS, own)), *others]) for hub, own in matches]
        return [(hub, list(matchers)) for hub in range(len(self.hubs))]
