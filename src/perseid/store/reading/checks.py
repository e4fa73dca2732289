"""Comparing what is counted with what is there: statements for both databases. None of them repairs anything."""

from __future__ import annotations

# Each yields (what, expected, found) where the two differ; the first figure is counted from rows.
CHECKS = (
    "SELECT 'active of queue ' || q.id, count(l.job), q.active FROM queue q LEFT JOIN lease l ON l.queue = q.id"
    " GROUP BY q.id HAVING count(l.job) <> q.active",
    "SELECT 'active of host ' || h.name, count(l.job) + coalesce(b.slots, 0), h.active FROM host h"
    " LEFT JOIN lease l ON l.host = h.id LEFT JOIN (SELECT host, sum(size) AS slots FROM block GROUP BY host) b"
    "  ON b.host = h.id WHERE h.active <> 0 OR l.job IS NOT NULL OR b.slots IS NOT NULL"
    " GROUP BY h.id, b.slots HAVING count(l.job) + coalesce(b.slots, 0) <> h.active",
    "SELECT 'active of team ' || t.id, count(l.job) + coalesce(b.slots, 0), t.active FROM team t"
    " LEFT JOIN lease l ON l.team = t.id LEFT JOIN (SELECT team, sum(size) AS slots FROM block GROUP BY team) b"
    "  ON b.team = t.id GROUP BY t.id, b.slots HAVING count(l.job) + coalesce(b.slots, 0) <> t.active",
    "SELECT 'ready lanes of queue ' || q.id, count(l.id), q.ready FROM queue q"
    " LEFT JOIN lane l ON l.queue = q.id AND l.state = 1 GROUP BY q.id HAVING count(l.id) <> q.ready",
    "SELECT 'lanes waiting at host ' || h.name, count(l.id), h.waiting FROM host h"
    " LEFT JOIN lane l ON l.host = h.id AND l.state = 2 GROUP BY h.id HAVING count(l.id) <> h.waiting",
    "SELECT 'claimable queues of idle team ' || t.id, count(*), 0 FROM team t JOIN queue q ON q.team = t.id"
    " WHERE t.ready = 0 AND q.ready > 0 AND q.closed = 0 AND q.active < q.max_active GROUP BY t.id",
    "SELECT 'lane of leased job ' || l.job, 1, 0 FROM lease l WHERE NOT EXISTS (SELECT 1 FROM lane"
    " WHERE lane.id = l.lane) AND l.lane <> 0",
    "SELECT 'sleeping lane ' || l.id, 0, l.tail - l.head FROM lane l JOIN queue q ON q.id = l.queue"
    " WHERE l.state = 0 AND l.head < l.tail AND q.closed = 0",
    # 1 is for what came to its end, or to its deadline.
    "SELECT 'pause of queue ' || q.id, 2 * c.paused, q.closed FROM queue q JOIN crawl c ON c.id = q.crawl"
    " WHERE c.status = 0 AND q.closed <> 1 AND q.closed <> 2 * c.paused",
)
# Every open job of a running crawl waits in a lane, is leased, or waits for its time: none is lost.
PLACES = (
    "SELECT 'places of open jobs of crawl ' || c.uid, c.open,"
    " (SELECT coalesce(sum(l.tail - l.head), 0) FROM queue q JOIN lane l ON l.queue = q.id WHERE q.crawl = c.id)"
    " + (SELECT count(*) FROM lease WHERE crawl = c.id) + (SELECT count(*) FROM retry WHERE crawl = c.id)"
    " FROM crawl c WHERE c.status = 0 ORDER BY c.id DESC LIMIT 1000"
)
CRAWL_CHECKS = (
    "SELECT 'open jobs of crawl ' || c.uid, (SELECT count(*) FROM url u WHERE u.crawl = c.id AND u.lane IS NOT NULL)"
    " - (SELECT count(*) FROM ended e JOIN url u ON u.id = e.job WHERE u.crawl = c.id), c.open FROM"
    " crawl c WHERE c.id = $1",
    "SELECT 'pages of crawl ' || c.uid, (SELECT count(*) FROM url u WHERE u.crawl = c.id AND u.flags & 1 <> 0),"
    " c.discovered FROM crawl c WHERE c.id = $1",
    "SELECT 'pages done of crawl ' || c.uid, (SELECT count(*) FROM url u JOIN ended e ON e.job = u.id"
    "  WHERE u.crawl = c.id AND u.flags & 1 <> 0 AND e.state = 0), c.done FROM crawl c WHERE c.id = $1",
    "SELECT 'pages failed of crawl ' || c.uid, (SELECT count(*) FROM url u JOIN ended e ON e.job = u.id"
    "  WHERE u.crawl = c.id AND u.flags & 1 <> 0 AND e.state = 1), c.failed FROM crawl c WHERE c.id = $1",
    "SELECT 'duplicate pages of crawl ' || c.uid, (SELECT count(*) FROM url u JOIN ended e ON e.job = u.id"
    "  WHERE u.crawl = c.id AND u.flags & 1 <> 0 AND e.state = 2), c.duplicate FROM crawl c WHERE c.id = $1",
    "SELECT 'denied pages of crawl ' || c.uid, (SELECT count(*) FROM url u JOIN ended e ON e.job = u.id"
    "  WHERE u.crawl = c.id AND u.flags & 1 <> 0 AND e.state = 3), c.denied FROM crawl c WHERE c.id = $1",
    "SELECT 'cancelled pages of crawl ' || c.uid, (SELECT count(*) FROM url u JOIN ended e ON e.job = u.id"
    "  WHERE u.crawl = c.id AND u.flags & 1 <> 0 AND e.state = 4), c.cancelled FROM crawl c WHERE c.id = $1",
    "SELECT 'documents of crawl ' || c.uid, (SELECT count(*) FROM document d WHERE d.crawl = c.id AND superseded = 0),"
    " c.documents FROM crawl c WHERE c.id = $1",
    "SELECT 'newest document of crawl ' || c.uid, (SELECT coalesce(max(seq), 0) FROM document d WHERE d.crawl = c.id),"
    " c.documents + c.superseded FROM crawl c WHERE c.id = $1",
    "SELECT 'refused links of crawl ' || c.uid, (SELECT count(*) FROM denied d WHERE d.crawl = c.id), c.refused"
    " FROM crawl c WHERE c.id = $1",
    "SELECT 'completion of crawl ' || c.uid, CASE WHEN c.open = 0 THEN 1 ELSE 0 END, c.status FROM crawl c"
    " WHERE c.id = $1 AND c.status IN (0, 1)",
)  # fmt: skip

CRAWLS = "SELECT id FROM crawl WHERE erased_at IS NULL AND swept < 2 ORDER BY id DESC LIMIT $1"
"""The newest crawls, whose rows are compared with their counters."""
