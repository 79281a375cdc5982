"""The encoder of a neural parser in ONNX Runtime: the same weights, the same words, one thread.

For benchmarks/neural.py; needs the packages onnx and onnxruntime. Words are embeddings of 300, and a hidden
layer over all LSTM layers gives scores of tags, which are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from arbora._core import Network

UNITS = 128  # of the hidden layer
CHUNK = 64  # sentences of similar length, padded to the longest per call
GATES = (0, 3, 1, 2)  # ONNX's order is i, o, f, g; ours is i, f, g, o


def random_encoder(size: int, layers: int, words: int, tags: int) -> dict[str, NDArray[np.float32]]:
    """Weights by our names; includes a scorer of arcs because a network needs one."""
    rng = np.random.default_rng(0)

    def some(*shape: int, scale: float = 0.1) -> NDArray[np.float32]:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    made = {"word": some(words, 300), "character": some(1, 1), "root": some(300)}
    for layer in range(layers):
        for side in ("forward", "backward"):
            name, inputs = f"lstm{layer}.{side}", 2 * size if layer else 300
            made[f"{name}.input"] = some(4 * size, inputs, scale=inputs**-0.5)
            made[f"{name}.recurrent"] = some(4 * size, size, scale=size**-0.5)
            made[f"{name}.bias"] = some(4 * size)
    for name in ("arc_head", "arc_dep"):
        made[f"{name}.weight"], made[f"{name}.bias"] = some(1, 2 * size), some(1)
    made["tags.weight"], made["tags.bias"] = some(UNITS, 2 * size * layers), some(UNITS)
    made["output.tags.weight"], made["output.tags.bias"] = some(tags, UNITS), some(tags)
    made["arcs"], made["arc_bias"] = some(1, 1), some(1)
    made["output.tags.words"] = np.zeros((tags, 300), np.float32)
    made["lengths.head"], made["lengths.dep"], made["lengths.bias"] = some(29, 1), some(29, 1), some(29)
    return made


def native_encoder(weights: dict[str, NDArray[np.float32]], **options: Any) -> Network:
    given: Any = weights
    return Network(given, np.zeros((1, 0), np.int8), np.ones(1, np.float32), ["tags"], **options)


def _reordered(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of the four gates in ONNX's order."""
    return array.reshape(4, -1, *array.shape[1:])[list(GATES)].reshape(array.shape)


def onnx_session(weights: dict[str, NDArray[np.float32]], layers: int) -> Any:
    """From word ids (steps, sentences) and lengths to scores of tags (steps, sentences, tags)."""
    constants, nodes = {"words": np.vstack([weights["word"], weights["root"]])}, []
    nodes.append(helper.make_node("Gather", ["words", "ids"], ["states0"]))
    for layer in range(layers):
        sides = [f"lstm{layer}.{side}" for side in ("forward", "backward")]
        constants[f"W{layer}"] = np.stack([_reordered(weights[f"{side}.input"]) for side in sides])
        constants[f"R{layer}"] = np.stack([_reordered(weights[f"{side}.recurrent"]) for side in sides])
        biases = [_reordered(weights[f"{side}.bias"]) for side in sides]
        constants[f"B{layer}"] = np.stack([np.concatenate([bias, np.zeros_like(bias)]) for bias in biases])
        size = weights[f"{sides[0]}.recurrent"].shape[1]
        nodes += [
            helper.make_node(
                "LSTM",
                [f"states{layer}", f"W{layer}", f"R{layer}", f"B{layer}", "lengths"],
                [f"both{layer}"],
                hidden_size=size,
                direction="bidirectional",
            ),
            helper.make_node("Transpose", [f"both{layer}"], [f"turned{layer}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"turned{layer}", "flat"], [f"states{layer + 1}"]),
        ]
        constants["flat"] = np.array([0, 0, 2 * size], np.int64)
    states = [f"states{layer + 1}" for layer in range(layers)]
    nodes.append(helper.make_node("Concat", states, ["both"], axis=2))
    for name, source, sums in (("tags", "both", "sums"), ("output.tags", "units", "scores")):
        constants[f"{name}.weight"] = weights[f"{name}.weight"].T.copy()
        constants[f"{name}.bias"] = weights[f"{name}.bias"]
        nodes.append(helper.make_node("MatMul", [source, f"{name}.weight"], [f"{name}.product"]))
        nodes.append(helper.make_node("Add", [f"{name}.product", f"{name}.bias"], [sums]))
    nodes.insert(-2, helper.make_node("LeakyRelu", ["sums"], ["units"], alpha=0.1))
    graph = helper.make_graph(
        nodes,
        "encoder",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["steps", "sentences"]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["sentences"]),
        ],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["steps", "sentences", "tags"])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class OnnxEncoder:
    """Pads sentences of similar length; padding and sorting are not timed."""

    def __init__(self, weights: dict[str, NDArray[np.float32]], layers: int) -> None:
        self.session, self.root = onnx_session(weights, layers), len(weights["word"])

    def prepare(self, given: dict[str, Any]) -> list[tuple[NDArray[Any], dict[str, NDArray[Any]]]]:
        """Chunks of a batch for `Network.encode`: the sentences, and the session's inputs."""
        rows = np.split(given["words"][given["types"]], np.cumsum(given["lengths"])[:-1])
        order = np.argsort([-len(row) for row in rows], kind="stable")
        chunks = []
        for at in range(0, len(order), CHUNK):
            chosen = order[at : at + CHUNK]
            lengths = np.array([len(rows[s]) + 1 for s in chosen], np.int32)
            ids = np.zeros((lengths.max(), len(chosen)), np.int64)
            for column, s in enumerate(chosen):
                ids[: lengths[column], column] = [self.root, *rows[s]]
            chunks.append((chosen, {"ids": ids, "lengths": lengths}))
        return chunks

    def __call__(
        self, chunks: list[tuple[NDArray[Any], dict[str, NDArray[Any]]]]
    ) -> list[NDArray[np.float32]]:
        return [self.session.run(["scores"], inputs)[0] for _, inputs in chunks]

    def by_word(self, chunks: list[Any], scores: list[NDArray[np.float32]], sentences: int) -> NDArray[Any]:
        """The scores of all words, sentence by sentence."""
        found: list[Any] = [None] * sentences
        for (chosen, inputs), array in zip(chunks, scores, strict=True):
            for column, s in enumerate(chosen.tolist()):
                found[s] = array[1 : inputs["lengths"][column], column]
        return np.concatenate(found)
