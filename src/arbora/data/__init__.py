"""Sentences, trees, columns and treebanks: everything that reads and writes CoNLL text.

Projectivity, statistics and synthetic treebanks belong here too. Nothing here knows scores or models.
"""
