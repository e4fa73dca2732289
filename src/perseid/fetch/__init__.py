"""Getting bytes politely and safely: http, guard, robots_cache, redirects, proxy."""
