"""Use cases around items: reading kept pages again, watching what fields lack, taking items out as files."""
