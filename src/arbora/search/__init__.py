"""How a parser finds trees: one file per kind of search."""
