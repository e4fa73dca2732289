"""One file for each kind of source: what is said of it, a cursor, and what may be asked make a step."""
