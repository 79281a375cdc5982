"""A network whose states of words come from a transformer of the `transformers` library, in PyTorch.

    s    the mean of the last layer's states of a word's pieces, or that of its first piece; the root has a
         vector of its own
    scores of arcs, siblings, labels and tags from s, as with an LSTM (`arbora.neural.heads`)

The encoder is fine-tuned with the rest, its layers at rates that fall from the last to the first
[howard-2018]; or it stays as it is. In training, states are computed in bfloat16 on a GPU.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from arbora.errors import InputError
from arbora.neural.heads import Counts, Heads, Sentences, States
from arbora.neural.pieces import PieceRows, PieceTokenizer, Which
from arbora.neural.settings import NeuralSettings
from arbora.types import Floats

ENCODER = "encoder."
"""How the names of an encoder's tensors begin."""
INSTALL = "pip install 'arbora-nlp[transformers]'"
LONGEST = 512  # pieces, where neither tokenizer nor encoder has a limit
LAYER = re.compile(r"\.(?:layers?|h|blocks?)\.(\d+)\.")


@dataclass(frozen=True, eq=False)
class EncoderSource:
    """A transformer without its weights."""

    name: str
    """Where it came from: a folder, or a name on the Hugging Face hub."""
    config: dict[str, Any]
    tokenizer: PieceTokenizer
    which: Which = "mean"
    embedded: bool = True
    """Whether the model holds its weights, fine-tuned; else they are read from `name`, and never changed."""

    @classmethod
    def open(cls, name: str, *, which: Which = "mean", embedded: bool = True) -> EncoderSource:
        """Read tokenizer and configuration from a folder or the hub; InputError if that fails."""
        if (name.startswith((".", "/", "~")) or "\\" in name) and not Path(name).is_dir():
            raise InputError(f"expected a transformer's folder, got {name}: no such folder", field="encoder")
        library = _library()
        try:
            config = library.AutoConfig.from_pretrained(name)
            tokenizer = library.AutoTokenizer.from_pretrained(name, use_fast=True, add_prefix_space=True)
        except (OSError, ValueError) as error:
            raise InputError(_not_found(name, error), field="encoder") from None
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise InputError(f"encoder: {name} has no fast tokenizer (tokenizer.json); choose another")
        limits = [int(getattr(config, "max_position_embeddings", 0) or LONGEST + 2) - 2]
        limits += [tokenizer.model_max_length] if tokenizer.model_max_length < 1_000_000 else []
        pieces = PieceTokenizer(backend.to_str(), max(8, min(limits)))
        folder = Path(name)
        if folder.is_dir():  # one that is needed again must be found from anywhere
            name = folder.name if embedded else str(folder.resolve())
        return cls(name, json.loads(config.to_json_string(use_diff=False)), pieces, which, embedded)

    def empty(self, device: str = "cpu") -> nn.Module:
        """The encoder with random weights; on the device `meta` with none."""
        library = _library()
        kind = self.config.get("model_type")
        values = {name: self.config[name] for name in self.config if name not in ("model_type", "auto_map")}
        try:
            config = library.AutoConfig.for_model(kind, **values)
            with torch.device(device):
                made: nn.Module = library.AutoModel.from_config(config)
        except Exception as error:  # whatever the library makes of a damaged configuration
            what = f"{type(error).__name__}: {str(error)[:80]}"
            raise InputError(f"encoder: expected an encoder's configuration, got one with {what}") from None
        return made

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of its weights, by name."""
        return {name: tuple(weights.shape) for name, weights in _weights(self.empty("meta"))}

    @cached_property
    def pretrained(self) -> nn.Module:
        """The encoder with the weights that `name` has."""
        return _pretrained(self.name)


def _pretrained(name: str) -> nn.Module:
    library = _library()
    try:
        found: nn.Module = library.AutoModel.from_pretrained(name, use_safetensors=True, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise InputError(_not_found(name, error), field="encoder") from None
    return found


def initial_weights(name: str) -> dict[str, Floats]:
    """The weights of an encoder in a folder or on the hub, by their names in a model file."""
    weights = _weights(_pretrained(name))
    return {f"{ENCODER}{each}": tensor.detach().numpy().copy() for each, tensor in weights}


def _library() -> Any:
    try:
        import transformers
    except ImportError:
        raise InputError(f"needs more packages: {INSTALL}", field="encoder") from None
    logging: Any = transformers.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return transformers


def _not_found(name: str, error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"expected the folder or the name of a transformer, got {name}: {lines[0][:200]}"


def _weights(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """All weights, except those of a pooling layer, which no word's state depends on."""
    return ((name, each) for name, each in module.named_parameters() if not name.startswith("pooler."))


class TransformerNetwork(Heads):
    """States of nodes by a transformer, and scores from them."""

    own_threads = True

    def __init__(self, settings: NeuralSettings, counts: Counts, source: EncoderSource) -> None:
        """`settings` are resolved."""
        super().__init__(settings, counts)
        self.source = source
        self.encoder = source.empty() if source.embedded else source.pretrained.eval().requires_grad_(False)
        size = int(getattr(self.encoder.config, "hidden_size", 0))
        if not size:
            raise InputError(f"expected one with a hidden size, got {source.name}", field="encoder")
        self.root = nn.Parameter(torch.zeros(size))
        self.add_heads(size, size)
        nn.init.normal_(self.root, std=0.1)

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        yield "root", self.root
        yield from super().tensors()
        if self.source.embedded:
            yield from ((f"{ENCODER}{name}", weights) for name, weights in _weights(self.encoder))

    def rates(self, rate: float) -> dict[str, float]:
        """The rate of a layer is `layer_decay` times that of the next; embeddings come before the first."""
        numbers = {name: LAYER.search(name) for name, _ in self.tensors() if name.startswith(ENCODER)}
        layers = 1 + max((int(found[1]) for found in numbers.values() if found), default=-1)
        depths = {name: layers - int(found[1]) - 1 if found else layers for name, found in numbers.items()}
        share = self.settings.encoder_rate / rate
        return {name: share * self.settings.layer_decay**depth for name, depth in depths.items()}

    def train(self, mode: bool = True) -> TransformerNetwork:
        super().train(mode)
        if not self.source.embedded:
            self.encoder.eval()
        return self

    def forward(self, batch: Sentences) -> States:
        rows: PieceRows = batch.inputs
        with self._dropout_of(batch):
            words = self.word_states(rows)
        states = self._drop(torch.cat([self.root[None], words])[rows.nodes], self._rate, batch)
        return States(states, states)

    @property
    def _rate(self) -> float:
        return float(self.settings.dropout)

    def word_states(self, rows: PieceRows) -> Tensor:
        """(W, size)."""
        with self._precision(rows.ids.device.type):
            found = self.encoder(input_ids=rows.ids, attention_mask=rows.mask).last_hidden_state
        pieces = found.to(self.root.dtype).flatten(0, 1)[rows.rows]
        sums = pieces.new_zeros(len(rows.counts), pieces.shape[1]).index_add(0, rows.words, pieces)
        return sums / rows.counts[:, None]

    def _precision(self, device: str) -> AbstractContextManager[Any]:
        wanted = self.settings.precision
        is_half = wanted == "bfloat16" or (wanted == "auto" and device == "cuda" and self.training)
        return torch.autocast(device, torch.bfloat16) if is_half else nullcontext()

    def _dropout_of(self, batch: Sentences) -> AbstractContextManager[Any]:
        """The encoder's own dropout takes its random numbers from the batch's."""
        if not self.training or batch.random is None:
            return nullcontext()
        return _seeded(batch.random)


@contextmanager
def _seeded(random: torch.Generator) -> Iterator[None]:
    """Seed PyTorch's own random numbers from a generator; afterwards they are as before."""
    seed = int(torch.randint(2**31, (1,), generator=random, device=random.device))
    devices = [torch.cuda.current_device()] if random.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def check_weights(source: EncoderSource, tensors: Mapping[str, Floats]) -> None:
    """InputError unless the weights are those of the encoder, and it has a row for every piece."""
    given = {name.removeprefix(ENCODER): tensors[name].shape for name in tensors if name.startswith(ENCODER)}
    if not source.embedded:
        if given:
            raise InputError("encoder: expected no weights, since the model names its encoder, got some")
        return
    expected = source.shapes
    for name in sorted(expected.keys() | given.keys()):
        if expected.get(name) != given.get(name):
            wanted = expected.get(name, "none")
            raise InputError(f"encoder: {name}: expected the shape {wanted}, got {given.get(name, 'none')}")
    rows = int(source.config.get("vocab_size") or 0)
    if source.tokenizer.largest >= rows:
        raise InputError(f"tokenizer: expected pieces below {rows}, got {source.tokenizer.largest}")
