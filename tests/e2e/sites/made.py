"""The sites that are written here, and what real ones lack: a feed, sitemaps. Values stand as pages have them."""

from __future__ import annotations

import json
from html import escape
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit

from perseid.testing import Answer, Request
from perseid.testing.site import Pages


def news_feed(pages: Pages, paths: list[str]) -> None:
    items = "".join(f"<item><title>{n}</title><link>{pages.url(path)}</link></item>" for n, path in enumerate(paths))
    items += "<item><title>Live</title></item>"
    body = f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{items}</channel></rss>'
    pages.respond("/xml/rss/all.xml", headers={"Content-Type": "application/rss+xml"}, body=body)


def shop_sitemaps(pages: Pages, paths: list[str]) -> None:
    """An index of two, the second one compressed; what is old is not asked for."""
    pages.sitemap("/sitemap.xml", ["/sitemap_a.xml", "/sitemap_b.xml.gz"], index=True)
    entries = "".join(
        f"<url><loc>{pages.url(path)}</loc><lastmod>{day}</lastmod></url>"
        for path, day in [
            *((path, "2026-02-01") for path in paths[:2]),
            ("/products/old", "2019-02-01"),
            ("/about", ""),
        ]
    )
    pages.respond(
        "/sitemap_a.xml", body=f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    )
    pages.sitemap("/sitemap_b.xml.gz", paths[2:], gzipped=True)


JOBS = (
    # q, number, title, company, city, posted, ends, from, to, remote, tasks
    ("dreher", 4711, "Dreher (m/w/d)", "Werk & Söhne GmbH", "Ulm", "2024-03-04", "30. April 2024", "3.200", "4.100,50", "nein", ("Drehen", "Fräsen", "Messen")),
    ("dreher", 4712, "CNC-Dreher", "Metallbau Nord", "Kiel", "2024-03-05", "1. Mai 2024", "2.950", "3.400", "nein", ("Rüsten",)),
    ("dreher", 4713, "Ausbilder Drehtechnik", "Lehrwerk e. V.", "Köln", "2024-02-28", "15.05.2024", "4.000", "5.250", "ja", ("Lehren", "Prüfen")),
    ("schweißer", 4801, "Schweißer WIG", "Rohr AG", "Bremen", "2024-03-01", "31.03.2024", "3.600", "3.900", "nein", ("Schweißen", "Heften")),
    ("schweißer", 4802, "Schweißaufsicht", "Rohr AG", "Bremen", "2024-03-02", "31. März 2024", "4.800", "6.000,00", "ja", ("Planen", "Abnehmen")),
)  # fmt: skip


def jobs(pages: Pages) -> None:
    """Two jobs a list; a page behind the last is an empty list."""

    def search(request: Request) -> Answer:
        asked = parse_qs(urlsplit(request.path).query)
        found = [job for job in JOBS if job[0] == asked["q"][0]]
        page = int(asked["seite"][0])
        rows = "".join(
            f'<li class=job><h3><a href="/job/{job[1]}">{escape(job[2])}</a></h3></li>'
            for job in found[2 * page - 2 : 2 * page]
        )
        return Answer(body=f"<!doctype html><html lang=de><title>Suche</title><ul>{rows}</ul>")

    pages.handle("/suche", search)
    for _, number, title, company, city, posted, ends, least, most, remote, tasks in JOBS:
        listed = "".join(f"<li>{task}</li>" for task in tasks)
        pages.page(
            f"/job/{number}",
            f"""<!doctype html><html lang=de><title>{title}</title><div itemscope itemtype="https://schema.org/JobPosting">
            <h1 itemprop=title>{title}</h1><div itemprop=hiringOrganization itemscope itemtype="https://schema.org/Organization">
            <span itemprop=name>{escape(company)}</span></div><div itemprop=jobLocation itemscope itemtype="https://schema.org/Place">
            <div itemprop=address itemscope itemtype="https://schema.org/PostalAddress"><b itemprop=addressLocality>{city}</b></div></div>
            <meta itemprop=datePosted content={posted}><p class=gehalt>ab {least} € bis {most} € im Monat</p>
            <p class=frist>Bewerbung bis {ends}</p><p>Homeoffice: <span class=remote>{remote}</span></p><ul class=aufgaben>{listed}</ul></div>""",
        )


PRODUCTS = (
    {"sku": "A-1", "active": True, "name": {"en": "Lamp"}, "price": {"value": 19.9}, "stock": 3, "updated": "2024-03-05T11:00:00+01:00", "tags": ["home", "light"], "variants": [{"size": "S", "gtin": "40123455"}, {"size": "M", "gtin": "4012345678901"}]},
    {"sku": "A-2", "active": False, "name": {"en": "Gone"}},
    {"sku": "A/3 x", "active": True, "name": {"en": "Chair"}, "price": {"value": "1,250.00"}, "stock": 0, "updated": 1709632800, "tags": [], "variants": []},
    {"sku": "B-4", "active": True, "name": {"en": "Sofa"}, "price": {"value": 899}, "stock": None, "updated": "2024-03-06T00:00:00Z", "tags": ["home"], "variants": [{"size": "L", "gtin": "4012345678918"}]},
)  # fmt: skip


def api(pages: Pages, token: str) -> None:
    """Two products a page; nobody is answered without the token."""

    def answer(request: Request) -> Answer:
        kind = {"Content-Type": "application/json"}
        if request.headers.get("authorization") != f"Bearer {token}":
            return Answer(status=401, headers=kind, body='{"error": "no token"}')
        path, _, query = request.path.partition("?")
        if path == "/v1/products":
            page = int(parse_qs(query).get("page", ["1"])[0])
            following = f"/v1/products?page={page + 1}" if 2 * page < len(PRODUCTS) else None
            listed = [{"sku": each["sku"], "active": each["active"]} for each in PRODUCTS[2 * page - 2 : 2 * page]]
            return Answer(headers=kind, body=json.dumps({"data": listed, "links": {"next": following}}))
        sku = unquote_to_bytes(path.rpartition("/")[2]).decode()
        found = [each for each in PRODUCTS if each["sku"] == sku]
        return Answer(headers=kind, body=json.dumps(found[0])) if found else Answer(status=404)

    pages.otherwise(answer)
    pages.robots("User-agent: *\nDisallow:")


RSS = """<?xml version="1.0" encoding="ISO-8859-1"?>
<rss version="2.0"><channel><title>Tee</title>
<item><guid isPermaLink="false">17</guid><title>Tea &amp; &lt;Cake&gt;, Zoë</title><link>{origin}/17</link>
  <pubDate>Tue, 05 Mar 2024 10:30:00 +0100</pubDate><enclosure url="https://cdn.test/17.mp3" length="1234567" type="audio/mpeg"/></item>
<item><guid>16</guid><title><![CDATA[Six & ten]]></title><link>/16</link><pubDate>Tue, 27 Feb 2024 23:00:00 GMT</pubDate></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Tee</title>
<entry><id>urn:uuid:60a76c80</id><title>Atom &amp; Eve</title><link href="/atom/1"/><updated>2003-12-13T18:30:02Z</updated></entry></feed>"""


def feeds(pages: Pages) -> None:
    pages.respond(
        "/feed.xml",
        headers={"Content-Type": "application/rss+xml"},
        body=RSS.format(origin=pages.origin).encode("latin-1"),
    )
    pages.respond("/atom.xml", headers={"Content-Type": "application/atom+xml"}, body=ATOM)


ACCOUNTS = {
    "ann": ("Ann's account", "£1,234.50", "1 May 2021", "gold", 4),
    "cy": ("Cy's account", "£0.00", "12/11/2022", "none", 1),
    "dee": ("Dee's account", "GBP 87", "3rd of January 2020", "gold", 2),
}


def members(pages: Pages, password: str) -> None:
    """Accounts are shown to who gave their consent and logged in; to others the form."""
    form = '<!doctype html><title>Log in</title><form method=post action=/login><input type=hidden name=csrf value="c5rf"><input name=user><input name=password></form>'
    logout = "<a class=logout href=/logout>Log out</a>"

    def login(request: Request) -> Answer:
        if request.method != "POST":
            return Answer(headers={"Set-Cookie": "visit=1; Path=/"}, body=form)
        sent = parse_qs(request.body.decode())
        right = sent == {"user": ["reader"], "password": [password], "csrf": ["c5rf"]}
        if not right or "visit=1" not in request.headers.get("cookie", ""):
            return Answer(body=form)
        return Answer(headers={"Set-Cookie": "session=s3cret; Path=/; HttpOnly"}, body=f"<p>Hello</p>{logout}")

    def account(name: str) -> object:
        title, balance, since, member, level = ACCOUNTS[name]
        page = (
            f"<!doctype html><html lang=en><h1>{title}</h1>{logout}<p id=balance>{balance}</p><p class=since>{since}</p>"
            f"<p class=member>{member}</p><script type=application/json id=state>{json.dumps({'user': {'level': level}})}</script>"
        )

        def answer(request: Request) -> Answer:
            cookies = request.headers.get("cookie", "")
            known = all(each in cookies for each in ("session=s3cret", "consent=yes", "seen=front"))
            return Answer(body=page if known else form)

        return answer

    pages.respond("/", headers={"Set-Cookie": "seen=front; Path=/"}, body="<h1>Welcome</h1>")
    pages.handle("/login", login)
    for name in ACCOUNTS:
        pages.handle(f"/account/{name}", account(name))  # type: ignore[arg-type]


BOOKS = {
    ("古典", 1): (("《红楼梦》", "曹雪芹", "￥1,299.00", "1.2万", "2024年3月5日 15:05", "有货"), ("《西游记》", "吴承恩", "45.5元", "35", "2024-03-15 18:00", "缺货")),
    ("古典", 2): (("《水浒传》", "施耐庵", "￥58", "2,040", "2023年12月31日", "有货"),),
    ("诗歌", 1): (("《唐诗三百首》", "蘅塘退士", "￥ 20.00", "3万", "2024/1/2 08:00", "有货"),),
    ("诗歌", 2): (("《宋词选》", "胡云翼", "人民币32元", "8千", "2024年02月29日 23:30", "缺货"),),
}  # fmt: skip


def books(pages: Pages) -> None:
    """In GBK, which only a meta element says, questions too."""

    def answer(request: Request) -> Answer | None:
        asked = dict(pair.split("=") for pair in urlsplit(request.path).query.split("&"))
        word = unquote_to_bytes(asked["k"]).decode("gbk")
        rows = "".join(
            f"<li><h3>{title}</h3><p class=zz>作者：{author}</p><b class=jg>{price}</b><i class=xl>{sold}</i><time class=rq>{day}</time><em class=kc>{stock}</em></li>"
            for title, author, price, sold, day, stock in BOOKS[word, int(asked["p"])]
        )
        body = f'<html><head><meta http-equiv="Content-Type" content="text/html; charset=gb2312"><title>书屋：{word}</title></head><body><ul class="shu">{rows}</ul></body></html>'
        return Answer(headers={"Content-Type": "text/html"}, body=body.encode("gbk"))

    pages.handle("/shu", answer)
