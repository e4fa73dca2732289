"""Use cases over ports: start, kickoff, sitemap, page, finish, cancel, explain, map, scrape, batch."""
