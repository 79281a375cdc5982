"""Treebanks by name: folders on disk, and downloads from Universal Dependencies.

Only `github` uses the network; a treebank is stored whole or not at all.
"""
