"""How often the interpreter looks for cycles, in a process that is all ours."""

from __future__ import annotations

import atexit
import gc

_YOUNG = 20_000


def collect_rarely() -> None:
    """A page is some thousand tuples and lists that are gone with it and form no cycle: look for those less often.

    What lives when the process ends goes with it: the interpreter's last search among all of it is spared, too.
    Not for the library: the process belongs to its caller there.
    """
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
