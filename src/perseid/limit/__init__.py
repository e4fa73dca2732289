"""Permits and token buckets: in this process, from the store each time, or through Redis. None knows of the others."""
