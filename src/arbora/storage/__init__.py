"""Files: byte streams, models in safetensors containers, quantized weights, downloads of treebanks.

This folder does not depend on the kind of model; each part of a model reads and writes its own entries.
"""
