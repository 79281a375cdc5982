"""Annotating treebanks with a parser's help: what to ask a human next, and what may be wrong.

Everything here works on sentences and parsers; pages and servers are in `web`, verbs in `cli`.
"""
