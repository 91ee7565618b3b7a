"""Small programs that behave as agents do, well or badly: standard library only."""
