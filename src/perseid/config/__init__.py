"""Settings: one frozen tree with every default, where each value came from, and precise errors.

Pure loading in `loading`; `files` finds and reads the configuration files; `listing` is `config show`.
"""
