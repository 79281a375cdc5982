"""Scores from the states of a transformer of the `transformers` library; it gives labels and tags, too.

The encoder runs in PyTorch, on a GPU if there is one; everything above it is native, as for other networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from arbora._core import Network, NetworkStates
from arbora.data.columns import Columns
from arbora.data.encode import GuideTrees, Names
from arbora.errors import InputError
from arbora.scorers.network import NetworkScorer
from arbora.scorers.vocabulary import Vocabulary
from arbora.types import Floats

if TYPE_CHECKING:
    from arbora.neural.pieces import PieceReader
    from arbora.neural.transformer import EncoderSource, TransformerNetwork

NO_VECTORS = (np.zeros((1, 0), np.int8), np.zeros(1, np.float32))
NO_WORDS = Vocabulary((), "")
TOKENIZER = "tokenizer.text"
STEP_WORDS = 1500
"""Words that the encoder reads at a time."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TransformerScorer(NetworkScorer):
    """A transformer's weights, unless the model only names it, and those of the scores above it."""

    name: ClassVar[str] = "transformer"

    encoder: EncoderSource

    @cached_property
    def native(self) -> Network:
        from arbora.neural.transformer import ENCODER

        above: dict[str, Any] = {n: array for n, array in self.tensors.items() if not n.startswith(ENCODER)}
        return Network(above, *NO_VECTORS, [*self.outputs], self.is_quantized)

    def digest(self, columns: Columns, guide: GuideTrees | None) -> bytes:
        return NO_WORDS.digest(columns)

    def encode(self, columns: Columns, threads: int, guide: GuideTrees | None) -> NetworkStates:
        from arbora.neural.encode import word_states

        rows: Floats = word_states(self._network, self.reader(columns), STEP_WORDS, threads)
        return self.native.given(np.diff(columns.offsets).astype(np.int32), rows)

    @cached_property
    def _network(self) -> TransformerNetwork:
        """Where it runs."""
        import torch

        found: Any = self.in_torch().eval()
        return cast("TransformerNetwork", found.to("cuda" if torch.cuda.is_available() else "cpu"))

    def reader(self, columns: Columns, guide: GuideTrees | None = None) -> PieceReader:
        from arbora.neural.pieces import PieceReader

        return PieceReader(columns, self.encoder.tokenizer, self.encoder.which)

    @classmethod
    def build(cls, columns: Columns, names: Names, *, seed: int = 0, **settings: Any) -> Self:
        """A scorer of unlabelled trees; `encoder` is a folder or a name, the rest as of `NeuralSettings`."""
        from arbora.neural.build import build_transformer
        from arbora.neural.settings import NeuralSettings

        name = settings.pop("encoder", None)
        if not isinstance(name, str):
            raise InputError("expected a folder or a name, got none", field="encoder")
        chosen = NeuralSettings(**settings).resolved(over_encoder=True)
        made: Any = build_transformer(columns, names, name, seed=seed, settings=chosen)
        return made

    # The model file

    own_tensors = frozenset({TOKENIZER})

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, settings = super().to_parts()
        encoder = self.encoder
        tensors[TOKENIZER] = np.frombuffer(encoder.tokenizer.text.encode(), np.uint8)
        about = {"name": encoder.name, "config": encoder.config, "longest": encoder.tokenizer.longest}
        about |= {"pieces": encoder.which, "embedded": encoder.embedded}
        return tensors, {**settings, "encoder": about}

    @classmethod
    def own_parts(cls, tensors: Mapping[str, NDArray[Any]], settings: dict[str, Any]) -> dict[str, Any]:
        from arbora.neural.pieces import PieceTokenizer
        from arbora.neural.transformer import EncoderSource

        text, about = tensors.get(TOKENIZER), settings.get("encoder")
        if text is None or text.dtype != np.uint8 or text.ndim != 1:
            raise InputError("tokenizer: expected its definition, got none")
        if not isinstance(about, dict) or not isinstance(about.get("config"), dict):
            raise InputError("encoder: expected its configuration, got none")
        name, longest, which = about.get("name"), about.get("longest"), about.get("pieces")
        if not isinstance(name, str) or type(longest) is not int or not 8 <= longest <= 100_000:
            raise InputError(f"encoder: expected a name and a length, got {str((name, longest))[:80]}")
        if which not in ("mean", "first"):
            raise InputError(f"encoder: expected pieces mean or first, got {str(which)[:80]}")
        try:
            tokenizer = PieceTokenizer(text.tobytes().decode(), longest)
        except UnicodeDecodeError:
            raise InputError("tokenizer: expected UTF-8, got other bytes") from None
        embedded = about.get("embedded") is True
        return {"encoder": EncoderSource(name, about["config"], tokenizer, which, embedded)}

    def check(self, names: Names, **rows: int) -> None:
        from arbora.neural.transformer import check_weights

        check_weights(self.encoder, self.tensors)
        super().check(names, **rows)
