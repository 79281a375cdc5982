"""Random networks, sentences for them, and their definition in plain NumPy (core/neural/network.hpp)."""

import numpy as np

from arbora._core import Network

WORDS, CHARACTERS, VECTORS, VECTOR_SIZE = 50, 40, 30, 11
LABELS, OUTPUTS, TAGS, OUTPUT_UNITS = 7, {"upos": 5, "feats": 37}, 6, 19
SLOPE = 0.1
LENGTHS = [3, 0, 12, 1, 7, 7, 70]


def tensors(size, layers, arc, label, *, tag_columns=0, rank=0, seed=0):
    """Random weights of a network, as a model file holds them; `rank` of 0: no siblings."""
    rng = np.random.default_rng(seed)

    def some(*shape, scale=0.3):
        return (scale * rng.normal(size=shape)).astype(np.float32)

    made = {"word": some(WORDS, 23), "character": some(CHARACTERS, 9), "projection": some(13, VECTOR_SIZE)}
    for i, width in enumerate((3, 5)):
        made[f"convolution{i}.weight"], made[f"convolution{i}.bias"] = some(7, 9, width), some(7)
    inputs = 23 + 14 + 13
    for i in range(tag_columns):
        made[f"tag{i}"] = some(TAGS, 10)
        inputs += 10
    made["root"] = some(inputs)
    for layer in range(layers):
        for side in ("forward", "backward"):
            name = f"lstm{layer}.{side}"
            made[f"{name}.input"] = some(4 * size, inputs if layer == 0 else 2 * size, scale=size**-0.5)
            made[f"{name}.recurrent"] = some(4 * size, size, scale=size**-0.5)
            made[f"{name}.bias"] = some(4 * size)
    units = {"arc_head": arc, "arc_dep": arc, "label_head": label, "label_dep": label}
    if rank:
        units |= dict.fromkeys(("sibling_head", "sibling_dep", "sibling_sib"), rank)
    for name, count in units.items():
        made[f"{name}.weight"], made[f"{name}.bias"] = some(count, 2 * size, scale=0.1), some(count)
    made["tags.weight"] = some(OUTPUT_UNITS, layers * 2 * size, scale=0.1)
    made["tags.bias"] = some(OUTPUT_UNITS)
    for name, count in OUTPUTS.items():
        made[f"output.{name}.weight"], made[f"output.{name}.bias"] = some(count, OUTPUT_UNITS), some(count)
        made[f"output.{name}.words"] = some(count, inputs - 10 * tag_columns)
    made["arcs"], made["arc_bias"] = some(arc, arc), some(arc)
    made["lengths.head"], made["lengths.dep"] = some(29, arc), some(29, arc)
    made["lengths.bias"] = some(29)
    made["labels.weight"], made["labels.bias"] = some(LABELS, 3 * label), some(LABELS)
    return made


def vectors(seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-127, 128, (VECTORS, VECTOR_SIZE)).astype(np.int8)
    rows[0] = 0
    return rows, rng.uniform(0, 0.02, VECTORS).astype(np.float32)


def network(weights, **options):
    return Network(weights, *vectors(), list(OUTPUTS), **options)


def sentences(lengths, *, tag_columns=0, seed=0):
    """Arguments of `encode`: random words; the first distinct word has no characters."""
    rng = np.random.default_rng(seed)
    types, words = 25, sum(lengths)
    counts = np.append(0, rng.integers(1, 9, types - 1))
    return {
        "lengths": np.array(lengths, np.int32),
        "types": rng.integers(0, types, words).astype(np.int32),
        "words": rng.integers(0, WORDS, types).astype(np.int32),
        "vectors": rng.integers(0, VECTORS, types).astype(np.int32),
        "characters": rng.integers(0, CHARACTERS, counts.sum()).astype(np.int32),
        "ends": np.cumsum(counts).astype(np.int64),
        "tags": [rng.integers(0, TAGS, words).astype(np.int32) for _ in range(tag_columns)],
    }


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def character_features(weights, characters):
    """A convolution's largest value over all places of a word, at least 0."""
    features = []
    for i in (0, 1):
        kernel, bias = weights[f"convolution{i}.weight"], weights[f"convolution{i}.bias"]
        half = kernel.shape[2] // 2
        found = [np.zeros(len(bias))]
        for at in range(len(characters)):
            total = bias.astype(float)
            for place in range(kernel.shape[2]):
                if 0 <= at + place - half < len(characters):
                    total = total + kernel[:, :, place] @ weights["character"][characters[at + place - half]]
            found.append(total)
        features.append(np.max(found, axis=0))
    return np.concatenate(features)


def lstm(weights, name, inputs):
    size = weights[f"{name}.recurrent"].shape[1]
    cell, output, outputs = np.zeros(size), np.zeros(size), []
    for x in inputs:
        gates = weights[f"{name}.input"] @ x + weights[f"{name}.recurrent"] @ output + weights[f"{name}.bias"]
        i, f, g, o = np.split(gates, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        output = sigmoid(o) * np.tanh(cell)
        outputs.append(output)
    return np.array(outputs)


def rectified(x):
    return np.where(x > 0, x, SLOPE * x)


def type_inputs(weights, given):
    """What the LSTM reads of each distinct word, without tags."""
    rows, scales = vectors()
    dense = rows * scales[:, None].astype(np.float64)
    starts = np.append(0, given["ends"][:-1])
    inputs = []
    for t, (word, vector) in enumerate(zip(given["words"], given["vectors"], strict=True)):
        characters = character_features(weights, given["characters"][starts[t] : given["ends"][t]])
        projected = rectified(weights["projection"] @ dense[vector])
        inputs.append(np.concatenate([weights["word"][word], characters, projected]))
    return inputs


def length_class(distance):
    """Of an arc: 14 is in the middle, further away are longer arcs to the left and to the right."""
    bounds = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64]
    steps = sum(abs(distance) >= bound for bound in bounds)
    return 14 + steps if distance > 0 else 14 - steps


def encoded(weights, inputs):
    """The states of every LSTM layer of one sentence."""
    states, layers = [inputs], sum(name.endswith("forward.recurrent") for name in weights)
    for layer in range(layers):
        forward = lstm(weights, f"lstm{layer}.forward", states[-1])
        backward = lstm(weights, f"lstm{layer}.backward", states[-1][::-1])[::-1]
        states.append(np.concatenate([forward, backward], axis=1))
    return states[1:]


def reference(weights, given, heads):
    """Scores of arcs, labels, tags and siblings of each sentence, by the definitions."""
    weights = {name: array.astype(np.float64) for name, array in weights.items()}
    types = type_inputs(weights, given)
    at, results = 0, []
    for n in given["lengths"].tolist():
        inputs = [weights["root"]]
        for word in range(at, at + n):
            tags = [weights[f"tag{i}"][column[word]] for i, column in enumerate(given["tags"])]
            inputs.append(np.concatenate([types[given["types"][word]], *tags]))
        own = np.array(types)[given["types"][at : at + n]]
        results.append(scores_from(weights, encoded(weights, inputs), heads[at : at + n], own))
        at += n
    return results


def scores_from(weights, layers, heads, own=None):
    """The scores of one sentence from the states of each layer; `own`: the inputs of its words, if any."""
    n = len(heads)

    def units(name, states=layers[-1]):
        return rectified(states @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])

    dep, head = units("arc_dep"), units("arc_head")
    arcs = (dep @ weights["arcs"] @ head.T + head @ weights["arc_bias"]).T
    for h in range(n + 1):
        for d in range(n + 1):
            c = length_class(d - h)
            arcs[h, d] += weights["lengths.bias"][c] + weights["lengths.head"][c] @ head[h]
            arcs[h, d] += weights["lengths.dep"][c] @ dep[d]
    no_arc = np.eye(n + 1, dtype=bool)
    no_arc[:, 0] = True
    arcs[no_arc] = 0
    siblings = None
    if "sibling_head.weight" in weights:
        parts = [units(f"sibling_{part}") for part in ("head", "dep", "sib")]
        siblings = np.einsum("hk,dk,sk->hds", *parts)
        siblings[no_arc] = 0
    by_head, by_dep = units("label_head")[heads], units("label_dep")[1:]
    pairs = np.hstack([by_head * by_dep, by_head, by_dep])
    labels = pairs @ weights["labels.weight"].T + weights["labels.bias"]
    read = units("tags", np.hstack(layers))[1:]
    tags = [
        read @ weights[f"output.{o}.weight"].T
        + weights[f"output.{o}.bias"]
        + (own @ weights[f"output.{o}.words"].T if n and own is not None else 0.0)
        for o in OUTPUTS
    ]
    return arcs, labels, tags, siblings


def without_words(weights, size):
    """The weights of a network whose states, of this size, are given."""
    above = ("arc", "label", "sibling", "tags", "output", "lengths")
    kept = {name: array for name, array in weights.items() if name.startswith(above)}
    kept = {name: array for name, array in kept.items() if not name.endswith(".words")}
    return {**kept, "root": np.resize(weights["root"], size)}
