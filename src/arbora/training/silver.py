"""Learning from a teacher: raw text gets the trees of one model, and another is trained on them and on gold.

The teacher parses the text piece by piece. Each piece becomes two files in a folder, of trees and of
probabilities, so that a second run goes on where the first one stopped. Sentences are kept if their heads are
probable enough; heads that are not probable can stay unknown. In training, gold sentences are repeated until
there are `share` silver words for each gold word.

With soft targets, a network learns the teacher's probabilities of heads and labels [hinton-2015]. With the
loss `crf` the loss of a sentence is the exact cross-entropy of the two distributions over its trees.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from arbora.data.columns import TEXT_COLUMNS, Columns
from arbora.data.encode import EMPTY_FIELD, numbers_of
from arbora.data.soft import SoftTrees
from arbora.data.treebank import Treebank, gather, read_columns
from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.pipeline.pipeline import Pipeline
from arbora.progress import Observer, Silent
from arbora.scorers.vocabulary import joined
from arbora.search.confidence import split_arcs
from arbora.settings import Settings, parameter, to_dict
from arbora.storage.files import file_checksum, open_output, read_text
from arbora.storage.model_file import read_model, write_model
from arbora.training.annotation import check_treebank
from arbora.training.config import TrainConfig, make_config
from arbora.training.pipeline import Trained, train
from arbora.training.resolve import choose_parser, resolve
from arbora.types import Longs

SHARD_WORDS = 20_000
MANIFEST = "manifest.json"
SOFT = ".soft"
"""The ending of files with probabilities."""
LONGER = 2.0
"""Words that a student is trained on, relative to the same parser without silver data."""
LARGE, STEP_WORDS = 1_000_000, 4000
"""Treebanks with more words than LARGE use batches of STEP_WORDS words."""
# Chosen on UD_English-EWT dev: with silver data, there is little to overfit.
DROPOUT = {"feature_dropout": 0.2, "dropout": 0.1, "recurrent_dropout": 0.05, "hidden_dropout": 0.1}
SOFT_LOSSES = ("auto", "local", "crf")


@dataclass(frozen=True, kw_only=True)
class SilverSettings(Settings):
    """Which sentences and heads of a teacher are learned from."""

    words: int = parameter(2_500_000, "words of raw text to keep, at most", least=1)
    shortest: int = parameter(3, "words of the shortest sentence that is kept", least=1)
    longest: int = parameter(80, "words of the longest one", least=1)
    least: float = parameter(
        0.8, "the least mean of P(head) over the words of a sentence that is kept", least=0.0, most=1.0
    )
    least_head: float = parameter(
        0.0, "heads less probable than this stay unknown; needs a loss that allows it", least=0.0, most=1.0
    )
    share: float = parameter(3.0, "silver words for each gold word in training", above=0.0)
    targets: Literal["auto", "hard", "soft"] = parameter(
        "auto", "learn the teacher's trees, or its probabilities; auto: soft for neural students, else hard"
    )


def distil(
    teacher: Pipeline,
    text: str | os.PathLike[str],
    gold: Treebank,
    dev: Treebank | None = None,
    *,
    folder: str | os.PathLike[str],
    config: TrainConfig | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    silver: SilverSettings | None = None,
    threads: int = 1,
    observer: Observer | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Trained:
    """Train a student on gold trees and on raw text with the teacher's trees, which `folder` keeps.

    The student has the teacher's segmenter. `config`, `checkpoint` and `resume` are as in `train`.
    """
    silver, observer = silver or SilverSettings(), observer or Silent()
    columns = gather(gold, partial(check_treebank, partial=make_config(config).learns_from_parts))
    student, _ = choose_parser(make_config(config), columns)
    is_network = student.kind == "neural"
    student.recipe.require_package()
    is_soft = _can_be_soft(student, silver, columns) and silver.targets != "hard"
    if silver.targets == "soft" and not is_soft:
        what = "soft targets need a neural student of order 1, the loss local or crf, and all heads"
        raise InputError(f"{what}; choose hard targets", field="targets")
    files = make_silver(teacher, text, folder, silver, threads=threads, observer=observer)
    if not files:
        what = f"{os.fspath(text)}: no sentence was kept; give more text, or a lower `least`"
        raise InputError(what, field="least")
    pieces = [read_columns(file) for file in files]
    added = Columns.concat(pieces, os.fspath(folder))
    if added.words > silver.words:  # the last file has more than were wanted
        count = max(1, int(np.searchsorted(added.offsets, silver.words, side="right")) - 1)
        added = added.select(np.arange(count))
    if is_network:  # spelling is learned from gold lemmas; a teacher that reads pieces guesses them
        added = added.with_column("lemma", np.zeros(added.words, np.int32), (EMPTY_FIELD,))
    copies = max(1, round(added.words / (silver.share * columns.words)))
    whole = Columns.concat([*[columns] * copies, added], f"{columns.source} + {os.fspath(folder)}")
    settings = student_config(make_config(config), columns, whole, copies)
    soft = None
    if is_soft:
        lengths = [np.diff(piece.offsets) for piece in pieces]
        found = _read_soft(files, lengths, teacher.parser.names.labels)
        soft = _with_gold(found, columns, copies).select(slice(whole.words))
    targets = "soft" if is_soft else "hard"
    times = f"gold {copies} times" if copies > 1 else "gold once"
    observer.note(f"silver: {len(added):,} sentences, {added.words:,} words, {targets} targets; {times}")
    options: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "segmenter": teacher.segmenter}
    return train(whole, dev, config=settings, threads=threads, observer=observer, soft=soft, **options)


def student_config(config: TrainConfig, gold: Columns, whole: Columns, copies: int) -> TrainConfig:
    """Settings for a treebank with silver sentences, where none are given.

    The gold trees decide whether arcs may cross and whether there may be several roots. Epochs have more
    steps, so there are fewer. A network's steps are longer and it needs less dropout. Words get an embedding
    if they occur twice in gold, or as often as that in all sentences.
    """
    chosen, _ = choose_parser(config, gold)
    decided: Any = resolve(chosen, gold)
    chosen = replace(chosen, trees=decided.trees, roots=decided.roots, projectivize=decided.projectivize)
    if "epochs" not in chosen.parameters:
        usual = chosen.recipe.parameters_for(chosen, gold).get(chosen.learner_name, {})
        epochs = int(usual.get("epochs", chosen.make_learner().settings()["epochs"]))
        fewer = max(2, round(LONGER * epochs * gold.words / whole.words))
        chosen = replace(chosen, parameters={**chosen.parameters, "epochs": fewer})
    if chosen.kind != "neural":
        return chosen
    own: dict[str, Any] = {"least": chosen.neural.least * copies, **DROPOUT}
    own = {name: value for name, value in own.items() if not chosen.is_changed(f"neural.{name}")}
    steps = {"words": STEP_WORDS} if whole.words > LARGE else {}
    parameters = {**steps, **chosen.parameters}
    return replace(chosen, neural=replace(chosen.neural, **own), parameters=parameters)


def make_silver(
    teacher: Pipeline,
    text: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    settings: SilverSettings,
    *,
    threads: int = 1,
    observer: Observer | None = None,
) -> list[Path]:
    """Parse a raw text into treebank files in a folder; those that exist are not made again.

    InputError if they were made with another teacher, text or settings. O(text).
    """
    observer = observer or Silent()
    teacher.parser.require(Query.MARGINALS)
    segmenter = teacher.require_segmenter()
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    _check_manifest(where / MANIFEST, teacher, text, settings)
    files, words, seen = [], 0, set[bytes]()
    observer.begin("silver", settings.words, unit="word")
    pieces = (
        piece
        for segmented in segmenter.segment_stream(read_text(text))
        for piece in segmented.columns.pieces(SHARD_WORDS)
    )
    for number, piece in enumerate(pieces):
        if words >= settings.words:
            break
        path = where / f"{number:06d}.conllu"
        chosen = np.array(list(_new_sentences(piece, settings, seen)), np.int64)
        if path.exists():
            kept = read_columns(path).words if path.stat().st_size else 0
        else:
            found = piece.select(chosen)
            kept = 0
            parsed = found
            if len(found):
                parsed, soft = _parsed(teacher, found, settings, threads)
                write_model(path.with_suffix(SOFT), soft.to_tensors(), {"kind": "silver"})
                kept = parsed.words
            with open_output(path) as stream:
                stream.write(parsed.to_bytes())
        if kept:
            files.append(path)
        words += kept
        observer.advance(kept)
    observer.end()
    return files


def _check_manifest(path: Path, teacher: Pipeline, text: Any, settings: SilverSettings) -> None:
    """Record the sources of a folder's files; InputError if they were made from other sources."""
    names = ("shortest", "longest", "least", "least_head")
    about = {"text": file_checksum(text), "teacher": teacher.checksum}
    about |= {name: value for name, value in to_dict(settings).items() if name in names}
    if path.exists():
        try:
            known = json.loads(path.read_bytes())
        except ValueError:
            known = None
        if known != about:
            what = f"{path.parent}: made from another teacher or text, or with other settings"
            raise InputError(f"{what}; delete the folder, or name another", field="silver")
        return
    with open_output(path) as stream:
        stream.write(json.dumps(about).encode())


def _new_sentences(columns: Columns, settings: SilverSettings, seen: set[bytes]) -> Iterator[int]:
    """The sentences that are neither too short nor too long, and that did not occur before."""
    forms, offsets = columns.texts("form"), columns.offsets.tolist()
    for number, (start, end) in enumerate(pairwise(offsets)):
        if settings.shortest <= end - start <= settings.longest:
            key = hashlib.blake2b("\t".join(forms[start:end]).encode("utf-8", "surrogatepass"), digest_size=8)
            if key.digest() not in seen:
                seen.add(key.digest())
                yield number


def _can_be_soft(config: TrainConfig, silver: SilverSettings, gold: Columns) -> bool:
    """Whether a student can learn probabilities."""
    if not config.recipe.learns_softly or config.loss not in SOFT_LOSSES or config.order == 2:
        return False
    if config.projectivize == "pseudo-projective" or silver.least_head:
        return False
    return config.loss != "crf" or bool((gold.heads >= 0).all())


def _read_soft(files: Sequence[Path], lengths: Sequence[Longs], names: tuple[str, ...]) -> list[SoftTrees]:
    """The probabilities stored with files of sentences of these lengths; `names`: the teacher's labels."""
    found = []
    for path, own in zip(files, lengths, strict=True):
        file = read_model(path.with_suffix(SOFT), verify=True)
        file.require_kind("silver", "probabilities of silver trees")
        try:
            found.append(SoftTrees.from_tensors(file.tensors, own, names))
        except InputError as error:
            raise file.error(f"{error}; delete it and its .conllu file to parse them again") from None
    return found


def _with_gold(silver: Sequence[SoftTrees], gold: Columns, copies: int) -> SoftTrees:
    """The probabilities of `copies` gold treebanks, which are certain, then the silver ones."""
    names = joined(silver[0].names, tuple(gold.strings("deprel")))
    numbers = numbers_of(gold.strings("deprel"), names)[gold.ids("deprel")]
    return SoftTrees.concat([*[SoftTrees.certain(gold.heads, numbers, names)] * copies, *silver])


def _parsed(
    teacher: Pipeline, columns: Columns, settings: SilverSettings, threads: int
) -> tuple[Columns, SoftTrees]:
    """The sentences that are kept, with the teacher's tags, trees and probabilities."""
    tagged = teacher.prepare(columns, retag=teacher.annotator is not None, threads=threads)
    found = teacher.parser.confidence(tagged, arc_table=True, label_table=True, threads=threads)
    lengths, names = np.diff(tagged.offsets), teacher.parser.names.labels
    table = found.label_table.reshape(tagged.words, -1)
    soft = SoftTrees.of(split_arcs(found.arc_table, lengths), table, names)
    sums = np.add.reduceat(found.head_probabilities, tagged.offsets[:-1])
    is_kept = sums >= settings.least * lengths
    trees = tagged.with_trees(found.heads, found.labels, names)
    is_known = found.head_probabilities >= settings.least_head
    if not is_known.all():
        texts: dict[Any, Any] = {name: (trees.ids(name), trees.strings(name)) for name in TEXT_COLUMNS}
        texts["deprel"] = (np.where(is_known, trees.ids("deprel"), 0), trees.strings("deprel"))
        heads = np.where(is_known, trees.heads, -1)
        trees = Columns.from_arrays(trees.offsets, texts, heads=heads)
    return trees.select(np.flatnonzero(is_kept)), soft.select(np.repeat(is_kept, lengths))
