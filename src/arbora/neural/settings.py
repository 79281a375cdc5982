"""Settings of a neural parser's network and of its training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from arbora.settings import Settings, parameter

Size: TypeAlias = Literal["small", "medium", "large"]
Device: TypeAlias = Literal["auto", "cpu", "cuda"]

NAMES = (
    *("layers", "units", "arc_size", "label_size", "output_size"),
    *("dropout", "recurrent_dropout", "hidden_dropout"),
)
# Chosen on UD_English-EWT dev: larger networks need more dropout.
OVER_ENCODER = dict(zip(NAMES, (1, 1, 400, 200, 256, 0.2, 0.0, 0.33), strict=True))
SIZES: dict[str, dict[str, float]] = {
    "small": dict(zip(NAMES, (2, 128, 192, 128, 128, 0.25, 0.1, 0.25), strict=True)),
    "medium": dict(zip(NAMES, (2, 200, 192, 128, 128, 0.25, 0.2, 0.25), strict=True)),
    "large": dict(zip(NAMES, (3, 400, 400, 200, 256, 0.33, 0.33, 0.33), strict=True)),
}


def _size(text: str) -> Any:
    return parameter("auto", f"{text}; auto: by `size`", least=1, most=4096)


def _rate(text: str, default: float | str = "auto") -> Any:
    by_size = "; auto: by `size`" if default == "auto" else ""
    return parameter(
        default, f"in training, the share of {text} that is hidden{by_size}", least=0.0, below=1.0
    )


@dataclass(frozen=True, kw_only=True)
class NeuralSettings(Settings):
    """The network of a neural parser, and how it is trained."""

    size: Size = parameter("small", "small: the fastest; large: the most accurate, ten times slower")
    layers: int | Literal["auto"] = _size("layers of the LSTM")
    units: int | Literal["auto"] = _size("units of each layer and direction")
    arc_size: int | Literal["auto"] = _size("units from which arcs are scored")
    label_size: int | Literal["auto"] = _size("units from which labels are scored")
    output_size: int | Literal["auto"] = _size("units from which tags and lemmas are scored")
    sibling_size: int = parameter(
        64, "with order 2: units from which siblings are scored", least=1, most=4096
    )
    word_size: int = parameter(100, "numbers of a word's embedding", least=1, most=4096)
    vector_size: int = parameter(200, "numbers that a word vector is projected to", least=1, most=4096)
    character_size: int = parameter(32, "numbers of a character's embedding", least=1, most=4096)
    filters: int = parameter(100, "filters of each of two convolutions over characters", least=1, most=4096)
    tag_size: int = parameter(50, "numbers of a given tag's embedding", least=1, most=4096)
    least: int = parameter(2, "occurrences of a word that gets an embedding", least=1)
    feature_dropout: float = _rate("features of words, such as the word or its characters,", 0.33)
    dropout: float | Literal["auto"] = _rate("inputs of the LSTM")
    recurrent_dropout: float | Literal["auto"] = _rate("recurrent weights of the LSTM")
    hidden_dropout: float | Literal["auto"] = _rate("units from which arcs and labels are scored")
    tag_weight: float = parameter(
        1.0, "weight of UPOS in the loss; heads and labels have weight 1", least=0.0
    )
    other_weight: float = parameter(0.1, "weight of XPOS, FEATS and lemmas in the loss", least=0.0)
    consistency: float = parameter(
        0.0,
        "weight of the divergence between two passes with different dropout masks; above 0, training takes "
        "twice as long",
        least=0.0,
    )
    pieces: Literal["mean", "first"] = parameter(
        "mean", "with an encoder: a word's state is the mean of its pieces' states, or that of the first"
    )
    encoder_rate: float = parameter(1e-4, "with an encoder: the learning rate of its last layer", above=0.0)
    layer_decay: float = parameter(
        0.9, "with an encoder: a layer's learning rate, divided by that of the next", above=0.0, most=1.0
    )
    precision: Literal["auto", "float32", "bfloat16"] = parameter(
        "auto", "with an encoder: the numbers in which it computes; auto: bfloat16 in training on a GPU"
    )
    accumulate: int = parameter(
        1, "on a GPU or with an encoder: parts of a batch that are computed one by one", least=1, most=1000
    )
    device: Device = parameter("auto", "where to train; auto: on a GPU if there is one")

    def resolved(self, *, over_encoder: bool = False) -> NeuralSettings:
        """The settings with everything that is `auto` decided, except for the device."""
        own: dict[str, Any] = OVER_ENCODER if over_encoder else SIZES[self.size]
        return replace(self, **{name: value for name, value in own.items() if getattr(self, name) == "auto"})


OF_TENSORS = {
    "units": ("lstm0.forward.recurrent", 1),
    "arc_size": ("arcs", 0),
    "label_size": ("label_head.weight", 0),
    "output_size": ("tags.weight", 0),
    "sibling_size": ("sibling_head.weight", 0),
    "word_size": ("word", 1),
    "vector_size": ("projection", 0),
    "character_size": ("character", 1),
    "filters": ("convolution0.bias", 0),
    "tag_size": ("tag0", 1),
}
"""Settings that are sizes: the tensor and the axis that each is the length of."""


def sizes_of(tensors: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The sizes of a network with these weights, by the names of settings."""
    found = {
        name: tensors[tensor].shape[axis] for name, (tensor, axis) in OF_TENSORS.items() if tensor in tensors
    }
    layers = sum(name.endswith("forward.recurrent") for name in tensors)
    return {**found, "layers": layers} if layers else found
