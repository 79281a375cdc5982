"""Trees for the eye: pure functions from a tree to text."""
