"""The store on embedded SQLite (WAL): every statement of one transaction stands in one of these files."""
