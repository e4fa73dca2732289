"""The command line: thin commands over the runtime. stdout is data, stderr is talk."""
