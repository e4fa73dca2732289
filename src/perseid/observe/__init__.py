"""What the outside may see while it works: log events as JSON lines on stderr, without secrets."""
