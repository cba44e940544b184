"""The frozen index: manifest, building, verification."""
