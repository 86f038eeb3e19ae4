"""How many chunks a search would look at, which decides how it reads them."""

from __future__ import annotations

from collections import OrderedDict

from memory.domain.errors import dialog_not_found
from memory.domain.retrieval import ChunkScope
from memory.repository import chunks
from mesh.db.transaction import Tx
from mesh.kernel.clock import Clock

FRESH_S = 30.0
"""How long a size is trusted. A scope that grows meanwhile is still read correctly, only less quickly."""

REMEMBERED = 20_000


class ScopeSizes:
    """Sizes of dialogs and of users' collections, remembered for a short time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[tuple[str, str, str], tuple[int, float]] = OrderedDict()

    async def size(self, tx: Tx, scope: ChunkScope) -> int:
        """Return how many chunks the scope's dialog holds, or all dialogs of its user.

        Raises:
            NotFound: the user has no such dialog (DIALOG_NOT_FOUND).
        """
        key = (tx.tenant_id, scope.user_id, scope.dialog_key)
        known = self._known.get(key)
        if known is not None and self._clock.monotonic_s() - known[1] < FRESH_S:
            return known[0]
        size = await chunks.scope_size(tx, scope.user_id, scope.dialog_key)
        if size is None and scope.dialog_key:
            raise dialog_not_found(scope.dialog_key)
        self._known[key] = (size or 0, self._clock.monotonic_s())
        self._known.move_to_end(key)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return size or 0
