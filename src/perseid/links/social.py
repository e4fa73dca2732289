"""The social networks whose pages are no part of any site's content."""

from __future__ import annotations

_LIST = """
    bsky.app discord.com discord.gg douyin.com facebook.com fb.com fb.me fb.watch instagr.am instagram.com
    kakao.com line.me linkedin.com lnkd.in m.me mastodon.social messenger.com ok.ru pin.it pinterest.com
    qzone.qq.com reddit.com redd.it renren.com snapchat.com t.co t.me telegram.me telegram.org threads.net
    threads.com tiktok.com tumblr.com twitter.com viber.com vk.com vkontakte.ru wa.me weibo.cn weibo.com
    whatsapp.com x.com xiaohongshu.com xing.com youtu.be youtube.com
"""
_NETWORKS = frozenset(_LIST.split())


def social_network(host: str) -> str | None:
    """The list entry that `host` is or lies under (`m.facebook.com`), or None.

    >>> social_network("mobile.x.com"), social_network("netflix.com")
    ('x.com', None)
    """
    host = host.removesuffix(".")
    while host:
        if host in _NETWORKS:
            return host
        host = host.partition(".")[2]
    return None
