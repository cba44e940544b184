"""The approved reference run: its record, where it is kept, who may move it."""
