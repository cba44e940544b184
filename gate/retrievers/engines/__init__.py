"""What the kinds that ask a search engine are made of: its interface, and the proof that its index is the frozen one."""
