"""The truth: SQL statements and migrations, the SQLite backend, blobs in files."""
