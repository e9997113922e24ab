"""What the hub does about incidents, by its last answer, by node."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.fleet.picture.remedies import remedies_of

if TYPE_CHECKING:
    from accelwatch.fleet.documents.remedies import LeftAlone, RemediesPage, RemedyDocument
    from accelwatch.fleet.picture.remedies import RemedySource


class RemedyBoard:
    """Mutable; belongs to the application's thread."""

    def __init__(self) -> None:
        # None until the hub has answered.
        self.page: RemediesPage | None = None
        # Why nothing new is known.
        self.problem = ""
        self._by_node: Mapping[str, RemedyDocument] = {}
        self._vetoes: Mapping[str, LeftAlone] = {}

    def read_remedies(self, source: "RemedySource | None") -> None:
        """What is known now."""
        page = None if source is None else source.page()
        self.problem = "" if source is None else source.problem()
        if page is not self.page:
            self.page = page
            self._by_node = (
                {} if page is None else {remedy.node: remedy for remedy in page.remedies}
            )
            self._vetoes = {} if page is None else {veto.node: veto for veto in page.vetoes}

    @property
    def acts(self) -> bool:
        """Whether the hub is configured to do anything."""
        return self.page is not None and self.page.acts

    def of_node(self, node: str) -> "RemedyDocument | None":
        """What is being done about a node."""
        return self._by_node.get(node)

    def veto_of(self, node: str) -> "LeftAlone | None":
        """The veto on a node, with who set it."""
        return self._vetoes.get(node)

    def of_incident(self, incident: IncidentDocument) -> "list[RemedyDocument]":
        """What is being done about an incident, its own node's first."""
        return remedies_of(self._by_node, incident)
