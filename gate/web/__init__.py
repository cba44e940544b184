"""HTTP to the services of a team: search, engines, embeddings. What is asked for is the business of the callers."""
