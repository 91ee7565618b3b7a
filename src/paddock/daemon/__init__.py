"""Settings, wiring and start-up: the one place that knows everything. Decides nothing."""
