"""Everything that people and programs read, from one Report object."""
