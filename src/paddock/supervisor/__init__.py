"""The loop, its hands, eyes and recovery: feeds the core, does what it says. Decides nothing."""
