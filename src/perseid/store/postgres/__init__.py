"""PostgreSQL store: the truth for many machines.

Who waits for whom, so that no deadlock is possible. Locks are taken in this order, each kind ascending by id:

0. `site`, then its `seed`s, by who changes them or begins a run. New hosts, by name, before anything else is locked:
   their unique index waits for who is making the same one.
1. `crawl` (FOR NO KEY UPDATE). Whoever writes a crawl's counters, `url`, `ended`, `document`, `denied`, `variant`,
   `edge`, `cut`, its outbox, makes one of its queues or deletes one of its leases holds its row.
2. `queue`. A lane and the places in it are changed only by who holds the row of their queue, so lanes need no lock.
   `outbox_lane` of a crawl that is held, before events that are there already are changed.
3. `host`.
4. `team`.
5. what crawls of one team share: `usage`, `known_url`, each sorted by its key.
6. what tasks of one site share: `sink` (new ones, by team and name), `site_page` with its `broken_item`s, `item`,
   `sink_line`, `collected`, `field_minute`, each sorted by its key; then `run_count` and `run_time` of a crawl that is
   held. One statement a table, the last of all that finishing does.
7. `gate`.

A claim waits for nobody while its transaction has finished something: what is locked by another is left out
(SKIP LOCKED). A transaction that begins by claiming may wait, in the order above. `lease` rows are made under the lock
of their queue and deleted under that of their crawl.

Who delivers holds one `outbox_lane` and its events, and waits for nothing more: not even for the crawl, which it may
only share (FOR KEY SHARE) to write its log, and which nobody deletes without its lane. Taking and expiring leave out
what is locked.

Who writes to a sink holds its row, and lets go of items in its line in their order. Forgetting pages, exceptions and
rates leaves out what is locked.

A host that is given up keeps its parked lanes; a claim finds it by the index `host_given_up`, and moves them on.

A row is locked before it is looked at: a condition in an UPDATE is judged by what was committed when the statement
began, so a flag that another transaction is just clearing would be missed.
"""
