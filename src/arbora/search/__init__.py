"""How a parser finds trees: one file per kind of search, all subclasses of `Search`.

Pruners, requests and probabilities of trees, which searches share, belong here too.
"""
