"""Parse a corpus into a folder, on all cores or on a cluster; a rerun does only what is missing.

    >>> from arbora.distributed import parse
    >>> report = parse(["texts/"], "parsed/")        # doctest: +SKIP

The corpus is cut into shards (`shards`), each of which becomes one file (`parse_shard`); `folder` says what
else is written. The same inputs, model and options give the same files, byte for byte, on any engine with any
number of workers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from socket import gethostname
from time import monotonic
from typing import Any

from arbora import __version__
from arbora.distributed.engines import Outcome, Pool, cores, in_words, run_tasks
from arbora.distributed.folder import MANIFEST, CorpusFolder, Journal
from arbora.distributed.inputs import Input, find_inputs
from arbora.distributed.parse_shard import LONGEST_REASON, CorpusOptions, Counts, parse_shard
from arbora.distributed.shards import Shard, count_shards, is_shard_of, plan_shards
from arbora.errors import InputError
from arbora.pipeline.pipeline import Pipeline, load
from arbora.progress import Observer, Silent

REPORT_SECONDS = 2.0
"""How often the report is written."""


@dataclass
class Report:
    """The results of a run, also in `_report.json`."""

    shards: int = 0
    """Of the corpus."""
    done: int = 0
    """Shards whose outputs exist, with those of earlier runs."""
    parsed: int = 0
    """Shards that this run has parsed."""
    failed: int = 0
    """Shards that failed, in this or in an earlier run."""
    bad_rows: int = 0
    sentences: int = 0
    """Of all shards that are done."""
    words: int = 0
    new_words: int = 0
    """Of this run."""
    seconds: float = 0.0
    """Of this run, with the start of workers."""
    is_finished: bool = False
    engine: str = "local"
    workers: int = 1
    _begun: float = field(default_factory=monotonic, repr=False)

    @property
    def words_per_second(self) -> float:
        return self.new_words / max(self.seconds, 1e-9)

    @property
    def failures(self) -> int:
        return self.failed + self.bad_rows

    def to_json(self) -> dict[str, Any]:
        self.seconds = monotonic() - self._begun
        found = {name: value for name, value in asdict(self).items() if not name.startswith("_")}
        return {**found, "words_per_second": round(self.words_per_second, 1)}

    def add(self, counts: dict[str, Any]) -> None:
        self.done += 1
        self.sentences += counts["sentences"]
        self.words += counts["words"]
        self.bad_rows += counts["bad"]


class ShardParser:
    """The state of a worker: the model, and the output folder."""

    def __init__(self, model: Pipeline, options: CorpusOptions, folder: str) -> None:
        if not Path(folder, MANIFEST).exists():  # else outputs would be lost on the disk of another machine
            what = f"{folder} is not there on {gethostname()}; choose a folder that all machines share"
            raise InputError(what, field="folder")
        self.model, self.options, self.folder = model, options, folder
        self.journal = Journal(folder)

    def parse(self, shard: Shard) -> dict[str, Any]:
        """Parse a shard; return its line of the journal."""
        line: dict[str, Any] = {}

        def note(counts: Counts) -> None:
            line.update(shard=shard.name, **counts.to_json())
            self.journal.write(line)

        target = self.options.output(self.folder, shard)
        parse_shard(shard, target, self.model, self.options, before_done=note)
        return line


def parse(
    inputs: Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    model: Pipeline | str | os.PathLike[str] | None = None,
    *,
    options: CorpusOptions | None = None,
    pool: Pool | None = None,
    time_limit: float | None = None,
    retry_failed: bool = False,
    observer: Observer | None = None,
) -> Report:
    """Parse files, folders and patterns into a folder of CoNLL-U, JSON lines or Parquet files.

    `model`: a pipeline or the name of one; the bundled English one by default. `pool`: the workers; one
    process per core by default. A shard that takes more than `time_limit` seconds, or that cannot be
    parsed, is recorded in `_failed.jsonl`, and the rest goes on; so is a row without a text. Later runs
    leave them out unless `retry_failed`, which also parses shards with such rows again. On a cluster, inputs
    and the folder must have the same paths on all machines.
    """
    options, observer = options or CorpusOptions(), observer or Silent()
    if isinstance(inputs, str | os.PathLike):
        raise InputError(
            f"expected a list of names, got {os.fspath(inputs)!r}; put it in [ ]", field="inputs"
        )
    pipeline = model if isinstance(model, Pipeline) else load(model)
    pool = pool or Pool(count=cores())
    given = [os.fspath(each) for each in inputs]
    found = find_inputs(given)
    if any(each.kind != "treebank" for each in found):
        pipeline.require_segmenter()
    about = {"arbora": __version__, "model": pipeline.checksum, "options": asdict(options)}
    place = CorpusFolder(Path(folder).resolve())
    _require_outside(place.path, given, found)
    place.open()
    try:
        outputs = place.outputs(options.ending)
        journal = place.journal()
        repaired = {name for name in outputs if retry_failed and has_bad_rows(journal, name)}
        changed = place.check_manifest(about, found, outputs, repaired, options.ending)
        outputs = {name for name in outputs if not any(is_shard_of(name, each) for each in changed)}
        failures = [line for line in place.failures() if "row" not in line]
        failed = {
            line["shard"]: line
            for line in failures
            if not any(is_shard_of(line["shard"], name) for name in changed)
        }
        report = Report(engine=pool.engine, workers=pool.count)
        run = Run(place, observer, report, journal, outputs - repaired, failed, retry_failed=retry_failed)
        run.plan(count_shards(found, options.shard_size))
        left = run.left(plan_shards(found, options.shard_size))
        first = next(left, None)  # no workers are started for nothing
        if first is not None:
            make = partial(ShardParser, pipeline, options, str(place.path))
            with pool.open(make) as opened:
                run.follow(run_tasks(opened, "parse", _chained(first, left), limit=time_limit))
        return run.end()
    finally:
        place.remove_temporary()
        place.close()


def has_bad_rows(journal: Mapping[str, dict[str, Any]], shard: str) -> bool:
    """Whether rows of a shard were left out."""
    return shard in journal and journal[shard]["bad"] > 0


def _require_outside(folder: Path, inputs: Sequence[str], files: Iterable[Input]) -> None:
    """InputError if the output folder lies in an input folder, or holds an input file. O(files)."""
    around = next((each for each in inputs if folder.is_relative_to(Path(each).resolve())), None)
    inside = f"{folder}{os.sep}"
    held = next((each.path for each in files if os.path.abspath(each.path).startswith(inside)), None)  # noqa: PTH100
    if around or held:
        what = f"{folder} lies in the input {around}" if around else f"{folder} holds the input {held}"
        raise InputError(
            f"{what}, so a rerun would parse its own outputs; choose a folder elsewhere", field="folder"
        )


def _chained(first: Shard, rest: Iterator[Shard]) -> Iterator[Shard]:
    yield first
    yield from rest


class Run:
    """Keeps account of one run: open, finished and failed shards."""

    def __init__(
        self,
        folder: CorpusFolder,
        observer: Observer,
        report: Report,
        journal: dict[str, dict[str, Any]],
        outputs: set[str],
        failed: dict[str, dict[str, Any]],
        *,
        retry_failed: bool,
    ) -> None:
        self.folder, self.observer, self.report = folder, observer, report
        self._journal, self._outputs, self._failed = journal, outputs, failed
        self._retried = set(self._failed) if retry_failed else set()
        self._rows: list[dict[str, Any]] = []
        self._written = 0.0

    def plan(self, shards: int) -> None:
        self.report.shards = shards
        self.observer.begin("parse", shards, unit="shard")

    def left(self, shards: Iterable[Shard]) -> Iterator[Shard]:
        """The shards that are to be parsed; counts the others."""
        for shard in shards:
            line = self._journal.get(shard.name)
            if shard.name in self._outputs and line is not None:
                self._count(line)
            elif shard.name in self._failed and shard.name not in self._retried:
                self.report.failed += 1
                self.observer.advance()
            else:
                yield shard

    def follow(self, results: Iterable[tuple[Shard, Outcome] | None]) -> None:
        """Take the results of shards as they come."""
        for result in results:
            if result is not None:
                self._take(*result)
            if monotonic() - self._written > REPORT_SECONDS:
                self._write_report()

    def end(self) -> Report:
        """Write the final report and the failures."""
        self.report.is_finished = self.report.done + self.report.failed == self.report.shards
        self.folder.write_failures([*self._failed.values(), *self._rows])
        self._write_report()
        self.observer.end()
        return self.report

    def _take(self, shard: Shard, outcome: Outcome) -> None:
        if outcome.error is None:
            self._failed.pop(shard.name, None)
            self._count(outcome.value)
            self.report.parsed += 1
            self.report.new_words += outcome.value["words"]
            return
        line = {"shard": shard.name, "path": shard.path, "start": shard.start, "end": shard.end}
        line |= {"error": type(outcome.error).__name__, "reason": in_words(outcome.error)[:LONGEST_REASON]}
        self._failed[shard.name] = line
        self.folder.add_failure(line)
        self.report.failed += 1
        self.observer.note(f"{shard.name}: {line['reason']}")
        self.observer.advance()

    def _count(self, line: dict[str, Any]) -> None:
        self.report.add(line)
        self._rows += ({"shard": line["shard"], **row} for row in line["bad_rows"])
        self.observer.advance()

    def _write_report(self) -> None:
        self._written = monotonic()
        document = self.report.to_json()
        self.folder.write_report(document)
        failed = f", {self.report.failures:,} failed" if self.report.failures else ""
        self.observer.status(f"{self.report.words_per_second:,.0f} words/s{failed}")
