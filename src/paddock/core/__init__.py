"""THINK: every decision, as pure functions on data. No I/O, clock, asyncio or logging."""
