"""Settings of a neural parser's network and of its training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from arbora.settings import Settings, parameter

Size: TypeAlias = Literal["small", "medium", "large"]
Device: TypeAlias = Literal["auto", "cpu", "cuda"]

SIZES: dict[str, dict[str, int]] = {
    "small": {"layers": 2, "units": 128, "arc_size": 192, "label_size": 64},
    "medium": {"layers": 2, "units": 200, "arc_size": 256, "label_size": 80},
    "large": {"layers": 3, "units": 400, "arc_size": 400, "label_size": 100},
}


def _size(text: str) -> Any:
    return parameter("auto", f"{text}; auto: by `size`", least=1, most=4096)


def _rate(default: float, text: str) -> Any:
    return parameter(default, f"in training, the share of {text} that is hidden", least=0.0, below=1.0)


@dataclass(frozen=True, kw_only=True)
class NeuralSettings(Settings):
    """The network of a neural parser, and how it is trained."""

    size: Size = parameter("small", "small: the fastest; large: the most accurate, ten times slower")
    layers: int | Literal["auto"] = _size("layers of the LSTM")
    units: int | Literal["auto"] = _size("units of each layer and direction")
    arc_size: int | Literal["auto"] = _size("units from which arcs are scored")
    label_size: int | Literal["auto"] = _size("units from which labels are scored")
    sibling_size: int = parameter(
        64, "with order 2: units from which siblings are scored", least=1, most=4096
    )
    word_size: int = parameter(100, "numbers of a word's embedding", least=1, most=4096)
    vector_size: int = parameter(100, "numbers that a word vector is projected to", least=1, most=4096)
    character_size: int = parameter(32, "numbers of a character's embedding", least=1, most=4096)
    filters: int = parameter(50, "filters of each of two convolutions over characters", least=1, most=4096)
    tag_size: int = parameter(50, "numbers of a given tag's embedding", least=1, most=4096)
    least: int = parameter(2, "occurrences of a word that gets an embedding", least=1)
    feature_dropout: float = _rate(0.4, "features of words, such as the word or its characters,")
    dropout: float = _rate(0.25, "inputs of the LSTM")
    recurrent_dropout: float = _rate(0.0, "recurrent weights of the LSTM")
    hidden_dropout: float = _rate(0.25, "units from which arcs and labels are scored")
    tag_weight: float = parameter(1.0, "what UPOS counts in the loss; heads and labels count 1", least=0.0)
    other_weight: float = parameter(0.1, "what XPOS, FEATS and lemmas count in the loss", least=0.0)
    device: Device = parameter("auto", "where to train; auto: on a GPU if there is one")

    def resolved(self) -> NeuralSettings:
        """The settings with everything that is `auto` decided, except for the device."""
        own = {name: value for name, value in SIZES[self.size].items() if getattr(self, name) == "auto"}
        changes: dict[str, Any] = own
        return replace(self, **changes)
