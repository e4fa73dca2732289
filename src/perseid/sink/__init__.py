"""Where the pages go: a folder of markdown files beside JSON lines, derived from the store."""
