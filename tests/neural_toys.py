"""Neural scorers with random weights for toy treebanks, made without PyTorch."""

import numpy as np

from arbora.data.encode import Names
from arbora.scorers.neural import NeuralScorer, VectorTable
from arbora.scorers.vocabulary import Vocabulary

WORD, CHARACTER, FILTERS, VECTOR, PROJECTED, TAG, OUTPUT = 6, 5, 4, 7, 3, 4, 5
SMALL = {
    "units": 8,
    "arc_size": 9,
    "label_size": 5,
    "output_size": 5,
    "word_size": 6,
    "character_size": 5,
    "filters": 4,
    "vector_size": 3,
}
"""Settings of a network that trains at once."""


def neural_scorer(columns, *, units=8, layers=2, given=(), predicted=(), siblings=0, vectors=True, seed=0):
    """A scorer for the words and labels of a treebank; weights are large enough for scores to differ."""
    rng, names = np.random.default_rng(seed), Names.of(columns)
    known = columns.strings("form")[1:20] if vectors else ()
    vocabulary = Vocabulary.of(columns, vectors=known, tags=given)
    counts = vocabulary.counts()
    outputs = {name: tuple(value for value in columns.strings(name) if value != "_") for name in predicted}
    inputs = WORD + 2 * FILTERS + (PROJECTED if vectors else 0) + TAG * len(given)
    shapes = {
        "word": (counts["words"], WORD),
        "character": (counts["characters"], CHARACTER),
        "root": (inputs,),
    }
    shapes |= {"projection": (PROJECTED, VECTOR)} if vectors else {}
    shapes |= {f"tag{i}": (count, TAG) for i, count in enumerate(counts["tags"])}
    for i, width in enumerate((3, 5)):
        shapes |= {f"convolution{i}.weight": (FILTERS, CHARACTER, width), f"convolution{i}.bias": (FILTERS,)}
    for layer in range(layers):
        for side in ("forward", "backward"):
            shapes[f"lstm{layer}.{side}.input"] = (4 * units, 2 * units if layer else inputs)
            shapes[f"lstm{layer}.{side}.recurrent"] = (4 * units, units)
            shapes[f"lstm{layer}.{side}.bias"] = (4 * units,)
    hidden = {"arc_head": 9, "arc_dep": 9, "label_head": 5, "label_dep": 5}
    hidden |= {name: siblings for name in ("sibling_head", "sibling_dep", "sibling_sib") if siblings}
    for name, count in hidden.items():
        shapes |= {f"{name}.weight": (count, 2 * units), f"{name}.bias": (count,)}
    if outputs:
        shapes |= {"tags.weight": (OUTPUT, min(2, layers) * 2 * units), "tags.bias": (OUTPUT,)}
    for name, values in outputs.items():
        shapes |= {f"output.{name}.weight": (len(values), OUTPUT), f"output.{name}.bias": (len(values),)}
    shapes |= {f"output.{name}.words": (len(v), inputs - TAG * len(given)) for name, v in outputs.items()}
    shapes |= {"lengths.head": (29, 9), "lengths.dep": (29, 9), "lengths.bias": (29,)}
    shapes |= {"arcs": (9, 9), "arc_bias": (9,)}
    shapes |= {"labels.weight": (len(names.labels), 15), "labels.bias": (len(names.labels),)}
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    table = (
        VectorTable.of(rng.normal(size=(len(known), VECTOR)).astype(np.float32)) if vectors else VectorTable()
    )
    return NeuralScorer(tensors=tensors, vocabulary=vocabulary, vectors=table, outputs=outputs)
