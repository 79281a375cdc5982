"""Treebanks by name: folders on disk, and getting those of Universal Dependencies from the net."""
