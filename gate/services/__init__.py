"""``services:`` of a configuration: engines that the gate starts from their images, fills from the snapshot, and removes."""
