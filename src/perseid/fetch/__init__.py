"""Getting bytes safely: http, guard, proxies, cookies of a chain, robots_cache. It follows no redirects of pages."""
