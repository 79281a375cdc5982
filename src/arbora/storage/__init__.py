"""Files: byte streams, models in safetensors containers, quantized weights, downloads of treebanks.

Nothing here knows what a model computes; each part of a model reads and writes its own entries.
"""
