"""Reproductions of papers: their tables and figures from treebanks on disk, one file per paper.

`arbora reproduce NAME` runs one. To add a study, write its file and name it in `catalog.py`.
"""
