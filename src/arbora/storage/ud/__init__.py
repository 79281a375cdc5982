"""Treebanks by name: folders on disk, and downloads from Universal Dependencies.

Only `http` and `github` use the network; a treebank is stored whole or not at all.
"""
