"""What every delivery promises, checked through its port alone: `suite.delivery_suite`."""
