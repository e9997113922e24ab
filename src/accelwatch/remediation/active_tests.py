"""Settings of `remedy.tests` in hub.yaml: what a test of an action needs, and has to measure.

docs/fleet/verification.md explains them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, field

from accelwatch.config.figures import Figure

# More is better.
FloorFigure = Annotated[Figure, Meta(extra={"form": "figure"})]
LEAST_EVERY_S = 3600.0


class ActiveTestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One test; of one that is not named its end alone decides."""

    # As `tests` of the action or its hook knows it.
    name: Annotated[str, Meta(extra={"form": "name"})] = ""
    # Whether it needs a peer: an idle node that is known to be healthy.
    pair: bool = False
    # The least figure by model, as the node's devices are called.
    floors: dict[str, FloorFigure] = {}
    # Of the median of what other nodes of its model have measured; for models without a floor. 0: none.
    share: Annotated[float, Meta(ge=0, le=1, extra={"form": "share"})] = 0.0
    # So many others must have measured before their median counts.
    least_nodes: Annotated[int, Meta(ge=1, le=100_000)] = 3
    # How often each idle node is tested; 0: only before it is given back.
    every_s: Annotated[float, Meta(ge=0, le=365 * 86_400, extra={"form": "duration"})] = field(
        default=0.0, name="every"
    )

    @property
    def has_floor(self) -> bool:
        """Whether a figure decides: one is written down, or comes of other nodes."""
        return bool(self.floors) or self.share > 0


def configuration_errors(tests: Sequence[ActiveTestSettings]) -> Iterator[tuple[str, str]]:
    """What does not fit together, by key within `remedy`."""
    names = Counter(test.name for test in tests)
    for at, test in enumerate(tests):
        key = f"tests[{at}]"
        if not test.name:
            yield f"{key}.name", "the name of a test of the action is missing, such as nccl-pair"
        elif names[test.name] > 1:
            yield f"{key}.name", f"another entry is called {test.name}; write one for each test"
        if test.share and not test.every_s:
            text = (
                "nothing measures the other nodes, so there is no median; say how often idle nodes "
                "are tested, such as every: 7d, or write floors instead"
            )
            yield f"{key}.share", text
        if 0 < test.every_s < LEAST_EVERY_S:
            text = "each test takes a node from its users for a while; write 1h or more"
            yield f"{key}.every", text
        for model, floor in test.floors.items():
            if not model:
                yield f"{key}.floors", "the name of a model is empty; write it as `fleet` shows it"
            elif not floor.value:
                text = (
                    f"a floor of 0 lets every {model} pass; write the least figure, or leave it out"
                )
                yield f"{key}.floors", text
