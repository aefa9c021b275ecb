"""Benchmarks of the reference stack: how time and memory grow, as ratios that mean the same on every machine."""
