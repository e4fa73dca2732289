"""Use cases over ports: start, the chain to an answer, page and sitemap jobs, explain, summary, mapping."""
