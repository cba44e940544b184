"""Containers that the gate starts beside itself: restricted, reached at 127.0.0.1, always removed. The SDK is imported when needed."""
