"""CPU time of reading a robots.txt and of one check, for ordinary, huge and hostile files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from perseid.links.robots import Robots

if TYPE_CHECKING:
    from collections.abc import Callable

ORDINARY = b"User-agent: *\n" + b"".join(
    b"Disallow: /%s\n" % path
    for path in (
        b"admin/ cart checkout/ search *?sort= *?filter= tmp/ private/ api/ login logout account/orders/ "
        b"*.php$ cgi-bin/ wp-admin/ wp-includes/ feed/ comments/ tag/*/page/ user/*/edit"
    ).split()
)
PREFIXES = b"User-agent: *\n" + b"".join(b"Disallow: /shop/%d/%s/\n" % (n, b"x" * (n % 40)) for n in range(9_000))
WILDCARDS = b"User-agent: *\n" + b"".join(b"Disallow: /shop/*/item-%d\n" % n for n in range(9_000))
STARS = b"User-agent: *\n" + b"".join(b"Disallow: /%sb%d\n" % (b"*a" * 40, n) for n in range(50))


def fastest_us(call: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        for _ in range(times):
            call()
        best = min(best, time.process_time() - start)
    return best / times * 1e6


def main() -> None:
    print(f"{'file':<24}{'bytes':>9}{'parse ms':>10}{'check us':>10}")
    for name, body, url in (
        ("19 ordinary rules", ORDINARY, "https://www.shop.example/products/garden/lamp-1234?page=2"),
        ("9,000 prefixes", PREFIXES, "https://www.shop.example/shop/8999/lamp-1234/details?page=2"),
        ("9,000 wildcards", WILDCARDS, "https://www.shop.example/shop/garden/item-x1234?page=2"),
        ("50 patterns of 40 stars", STARS, "https://www.shop.example/" + "a" * 2_000),
    ):
        parse_us = fastest_us(lambda body=body: Robots.parse(body, agents=["perseid"]), 3)  # type: ignore[misc]
        robots = Robots.parse(body, agents=["perseid"])
        check_us = fastest_us(lambda robots=robots, url=url: robots.allows(url), 2_000)  # type: ignore[misc]
        print(f"{name:<24}{len(body):>9}{parse_us / 1e3:>10.2f}{check_us:>10.2f}")


if __name__ == "__main__":
    main()
