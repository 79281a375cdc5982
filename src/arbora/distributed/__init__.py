"""Work on many processes or machines: parsing corpora, and training.

`engines` has the workers; `corpus` cuts a corpus into shards and parses them; `batches` is for data sets of
other libraries.
"""
