"""Where addresses of seeds come from beside HTTP: databases and folders that the operator has named."""
