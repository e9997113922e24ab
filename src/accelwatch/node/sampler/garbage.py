"""When garbage is collected in a process that has put it off until everything was imported."""

import gc

# Objects after which is looked for garbage: a reading makes hundreds, a picture thousands, and all end
# with the next.
_YOUNG = 10_000


def collect_garbage() -> None:
    """From here on, where that has waited for the imports; what is loaded is not gone over."""
    gc.freeze()
    gc.set_threshold(_YOUNG)
    gc.enable()
