"""The team's own code: started as somebody else, asked over pipes, trusted with nothing."""
