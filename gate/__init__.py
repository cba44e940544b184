"""Retrieval Gate: stops a code change from quietly making search worse."""

__version__ = "0.1.0"
