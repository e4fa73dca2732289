"""Pure link logic: key, similar, scope, robots, sitemap, discover, trap. No socket, clock or setting."""
