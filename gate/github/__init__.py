"""GitHub: transport, events, comments, artifacts, reviews, workflow commands."""
