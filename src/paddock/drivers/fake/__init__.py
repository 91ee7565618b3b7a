"""Scripted attempts for the demo, the tests and the simulator. Starts no process."""
