"""Scrapes that begin at the same moment share a transaction: most of what one costs alone is its commit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager

from perseid.errors import PerseidError
from perseid.store.order import Order
from perseid.store.sqlite.take import take
from perseid.store.sqlite.tx import Tx


class Orders:
    """Orders not yet carried out; whoever comes to the writing thread first carries out all of them."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Tx]]) -> None:
        self._transaction = transaction
        self._pending: deque[Order] = deque()

    def put(self, order: Order) -> None:
        self._pending.append(order)

    def carry_out(self) -> None:
        """To be called in the writing thread, once after each `put`."""
        orders = []
        while self._pending:
            orders.append(self._pending.popleft())
        if not self._try(orders) and len(orders) > 1:
            # One order's data upset them all, or the disk did: each is told for itself.
            for order in orders:
                self._try([order])

    def _try(self, orders: list[Order]) -> bool:
        try:
            if orders:
                self._together(orders)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever gave the order
            for order in orders:
                order.error = error
            return False
        return True

    def _together(self, orders: list[Order]) -> None:
        for order in orders:
            order.error = None
        with self._transaction() as tx:
            for order in orders:
                tx.execute("SAVEPOINT one")
                try:
                    order.taken = take(tx, order.new, order.worker, order.lease_us)
                except PerseidError as error:
                    tx.execute("ROLLBACK TO one")
                    order.error = error
                tx.execute("RELEASE one")
