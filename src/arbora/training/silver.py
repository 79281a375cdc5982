"""Learning from a teacher: raw text gets the trees of one model, and another is trained on them and on gold.

The teacher parses the text piece by piece. Each piece becomes a file of its own in a folder, so that a second
run goes on where the first one stopped. Sentences are kept if their heads are probable enough; heads that are
not probable can stay unknown. In training, gold sentences are repeated until there are `share` silver words
for each gold word.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from arbora.data.columns import TEXT_COLUMNS, Columns
from arbora.data.treebank import Treebank, gather, read_columns
from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.pipeline.pipeline import Pipeline
from arbora.progress import Observer, Silent
from arbora.settings import Settings, parameter, to_dict
from arbora.storage.files import file_checksum, open_output, read_text
from arbora.training.annotation import check_treebank
from arbora.training.config import TrainConfig, make_config
from arbora.training.pipeline import Trained, train
from arbora.training.resolve import choose_parser, resolve
from arbora.types import Longs

SHARD_WORDS = 20_000
MANIFEST = "manifest.json"
LONGER = 2.0
"""Steps of a student, divided by those of the same parser without silver data."""


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
    files = make_silver(teacher, text, folder, silver, threads=threads, observer=observer)
    if not files:
        raise InputError(f"{os.fspath(text)}: no sentence was kept; lower `least`", field="least")
    added = Columns.concat([read_columns(file) for file in files], os.fspath(folder))
    copies = max(1, round(added.words / (silver.share * columns.words)))
    whole = Columns.concat([*[columns] * copies, added], f"{columns.source} + {os.fspath(folder)}")
    times = f"gold {copies} times" if copies > 1 else "gold once"
    observer.note(f"silver: {len(added):,} sentences, {added.words:,} words; {times}")
    settings = student_config(make_config(config), columns, whole, copies)
    options: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "segmenter": teacher.segmenter}
    return train(whole, dev, config=settings, threads=threads, observer=observer, **options)


def student_config(config: TrainConfig, gold: Columns, whole: Columns, copies: int) -> TrainConfig:
    """Settings for a treebank with silver sentences, where none are given.

    The gold trees decide whether arcs may cross and whether there may be several roots. Epochs have more
    steps, so there are fewer. Words get an embedding if they occur twice in gold, or as
    often as that in all sentences.
    """
    chosen, _ = choose_parser(config, gold)
    decided: Any = resolve(chosen, gold)
    chosen = replace(chosen, trees=decided.trees, roots=decided.roots, projectivize=decided.projectivize)
    if "epochs" not in chosen.parameters:
        usual = chosen.recipe.parameters_for(chosen, gold).get(chosen.learner_name, {})
        epochs = int(usual.get("epochs", chosen.make_learner().settings()["epochs"]))
        fewer = max(2, round(LONGER * epochs * gold.words / whole.words))
        chosen = replace(chosen, parameters={**chosen.parameters, "epochs": fewer})
    if chosen.kind == "neural" and not chosen.is_changed("neural.least"):
        least = chosen.neural.least * copies
        chosen = replace(chosen, neural=replace(chosen.neural, least=least))
    return chosen


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
            parsed = _parsed(teacher, found, settings, threads) if len(found) else found
            with open_output(path) as stream:
                stream.write(parsed.to_bytes())
            kept = parsed.words
        if kept:
            files.append(path)
        words += kept
        observer.advance(kept)
    observer.end()
    return files


def _check_manifest(path: Path, teacher: Pipeline, text: Any, settings: SilverSettings) -> None:
    """Write what the files of a folder are made from; InputError if they are made from something else."""
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


def _parsed(teacher: Pipeline, columns: Columns, settings: SilverSettings, threads: int) -> Columns:
    """The sentences that are kept, with the teacher's tags and trees."""
    tagged = teacher.prepare(columns, retag=teacher.annotator is not None, threads=threads)
    found = teacher.parser.confidence(tagged, threads=threads)
    sums = np.add.reduceat(found.head_probabilities, tagged.offsets[:-1])
    kept: Longs = np.flatnonzero(sums >= settings.least * np.diff(tagged.offsets))
    trees = tagged.with_trees(found.heads, found.labels, teacher.parser.names.labels)
    is_known = found.head_probabilities >= settings.least_head
    if not is_known.all():
        texts: dict[Any, Any] = {name: (trees.ids(name), trees.strings(name)) for name in TEXT_COLUMNS}
        texts["deprel"] = (np.where(is_known, trees.ids("deprel"), 0), trees.strings("deprel"))
        heads = np.where(is_known, trees.heads, -1)
        trees = Columns.from_arrays(trees.offsets, texts, heads=heads)
    return trees.select(kept)
