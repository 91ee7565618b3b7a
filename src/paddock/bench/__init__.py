"""Baseline, stress, CPU, soak and comparison of real agents. Not paddock's own benchmarks."""
