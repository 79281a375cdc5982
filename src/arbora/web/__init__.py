"""Trees for the eye: pure functions from a tree to text."""

THRESHOLD = 0.8
"""An arc whose head is less probable than this is marked as uncertain."""
