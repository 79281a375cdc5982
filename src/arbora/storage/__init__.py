"""Files: models in safetensors containers, quantised weights, atomic writes, downloads of treebanks."""
