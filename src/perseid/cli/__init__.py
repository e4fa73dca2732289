"""The command line: a thin skin over the use cases. stdout is data, stderr is talk."""
