"""Networks in PyTorch: their training, and the export of their weights. Parsing needs none of this.

`arbora.scorers.neural` holds a trained network, whose forward pass is in core/neural. This folder needs the
extra `neural`, except for `settings`.
"""
