"""A Bloom filter over SHA-256 keys: what it denies was never added; of what it allows 0.3 % was not either.

15 bits and 4 hashes an element: (1 - e^(-4/15))^4 = 0.003. The four hashes are the four words of a key, which is a hash
already.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

BITS = 15
HASHES = 4
_SMALLEST = 1_024
_GROWTH = 4
_words = struct.Struct("<4Q").unpack


class Bloom:
    """Made for `expected` keys; beyond them it goes on in further generations, each four times the one before.

    Each full generation adds 0.3 % to the rate at which it allows what was never added. Filled anew for twice its keys
    whenever it is `crowded`, it stays below 0.35 %.
    """

    def __init__(self, expected: int = 0) -> None:
        self._generations = [_Generation(max(expected, _SMALLEST))]
        self._len = 0

    def __len__(self) -> int:
        """Keys added, those that it allowed already not counted."""
        return self._len

    @property
    def crowded(self) -> bool:
        """It has outgrown its first generation, and half of a further one."""
        last = self._generations[-1]
        return len(self._generations) > 1 and last.left < last.capacity // 2

    @property
    def size(self) -> int:
        """Bytes of all bits."""
        return sum(len(each.bits) for each in self._generations)

    def __contains__(self, key: bytes) -> bool:
        words = _words(key)
        return any(each.holds(words) for each in self._generations)

    def add(self, key: bytes) -> None:
        """`key` has 32 bytes."""
        words = _words(key)
        if any(each.holds(words) for each in self._generations):
            return
        last = self._generations[-1]
        if last.left <= 0:
            last = _Generation(last.capacity * _GROWTH)
            self._generations.append(last)
        last.add(words)
        self._len += 1

    def update(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            self.add(key)

    def sift(self, keys: Sequence[bytes]) -> list[bool]:
        """Which of the keys it allows, in their order."""
        return [key in self for key in keys]


class _Generation:
    __slots__ = ("_size", "bits", "capacity", "left")

    def __init__(self, capacity: int) -> None:
        self.capacity = self.left = capacity
        self._size = capacity * BITS
        self.bits = bytearray((self._size + 7) // 8)

    def holds(self, words: tuple[int, ...]) -> bool:
        bits, size = self.bits, self._size
        for word in words:
            at = word % size
            if not bits[at >> 3] & (1 << (at & 7)):
                return False
        return True

    def add(self, words: tuple[int, ...]) -> None:
        for word in words:
            at = word % self._size
            self.bits[at >> 3] |= 1 << (at & 7)
        self.left -= 1
