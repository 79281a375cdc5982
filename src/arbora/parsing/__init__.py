"""`Parser` joins names, a search and a calibration; parsed sentences and ensembles are here too.

`model_file` reads and writes parsers. How trees are found is the affair of `arbora.search`.
"""
