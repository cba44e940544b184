"""What should be found: golden sets."""
