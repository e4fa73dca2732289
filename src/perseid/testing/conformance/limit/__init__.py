"""What every way to hand out limits has to keep, as tests that a backend's module takes over by one call."""
