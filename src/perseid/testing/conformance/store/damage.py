"""What a store that lost or doubled something would look like: statements for backends of our own tables."""

from __future__ import annotations

DAMAGES = {
    "a lease is gone": "DELETE FROM lease WHERE job = (SELECT min(job) FROM lease)",
    "a host's slots": "UPDATE host SET active = active + 1 WHERE active > 0",
    "a host's slots lost": "UPDATE host SET active = 0",
    "a team's slots": "UPDATE team SET active = active + 1",
    "a queue's slots": "UPDATE queue SET active = active - 1 WHERE active > 0",
    "open jobs": "UPDATE crawl SET open = open + 1",
    "pages discovered": "UPDATE crawl SET discovered = discovered - 1",
    "pages done": "UPDATE crawl SET done = done + 1, discovered = discovered + 1",
    "documents": "UPDATE crawl SET documents = documents + 1",
    "a document is gone": "DELETE FROM document",
    "an end is gone": "DELETE FROM ended",
    "a URL is gone": "DELETE FROM url WHERE id = (SELECT max(id) FROM url)",
    "a lane is gone": "DELETE FROM lane WHERE id = (SELECT max(id) FROM lane)",
    "a lane skips a job": "UPDATE lane SET head = head + 1 WHERE head < tail",
    "ready lanes": "UPDATE queue SET ready = ready + 1",
    "a queue that nobody paused": "UPDATE queue SET closed = 2 WHERE closed = 0",
    "completed too early": "UPDATE crawl SET status = 1 WHERE open > 0",
    "the ledger's counter": "UPDATE crawl SET refused = refused + 1",
}
"""By what is wrong then. The audit has to notice each, in a store where a crawl is under way."""
