"""Metrics of one run. Pure: no files, no clock, no randomness."""
