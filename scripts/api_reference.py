"""Writes docs/api*.md, the lists of public names: python scripts/api_reference.py [--check]

Each name has its signature and the first line of its docstring. With --check nothing is written, and the exit
status is 1 where a page is not up to date. Names that need an optional package are read from the source, so
that the pages are the same wherever they are made.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
START = "api.md"
# Title and headings.
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "api-parsing.md": (
        "Models and pipelines",
        ("Models", "Parts of a pipeline"),
    ),
    "api-trees.md": ("Trees and evaluation", ("Inference over trees", "Evaluation", "Pictures")),
    "api-treebanks.md": ("Treebanks and annotation", ("Treebanks", "Annotation")),
    "api-extending.md": ("Interfaces", ("Extending",)),
    "api-more.md": (
        "Corpora, classifiers, files and errors",
        ("Large corpora and workers", "Classifiers", "Model files and settings", "Errors"),
    ),
}

# Heading, text below it, and modules with their names.
SECTIONS: list[tuple[str, str, list[tuple[str, tuple[str, ...]]]]] = [
    (
        "Models",
        "See [From raw text](pipeline.md), [Parsing](parsing.md) and [Training](training.md).",
        [
            ("arbora.pipeline.pipeline", ("load", "Pipeline")),
            ("arbora.training.pipeline", ("train", "Trained")),
            ("arbora.training.config", ("TrainConfig",)),
            ("arbora.training.silver", ("distil", "SilverSettings")),
            ("arbora.parsing.parsed", ("Parsed", "ParsedWord")),
            ("arbora.parsing.parser", ("Parser",)),
            ("arbora.parsing.ensemble", ("ensemble",)),
            ("arbora.parsing.ensemble_weights", ("fit_weights",)),
            ("arbora.training.tune", ("tune", "Tuned", "Trial", "Failure")),
        ],
    ),
    (
        "Parts of a pipeline",
        "See [From raw text](pipeline.md).",
        [
            ("arbora.pipeline.segmenter", ("Segmenter", "Segmented")),
            ("arbora.pipeline.train_segmenter", ("train_segmenter", "SegmenterSettings")),
            ("arbora.pipeline.tagger", ("Tagger", "train_tagger", "TaggerSettings")),
            ("arbora.pipeline.lemmatizer", ("Lemmatizer", "train_lemmatizer")),
            ("arbora.pipeline.words", ("WordSettings",)),
        ],
    ),
    (
        "Inference over trees",
        "See [Inference](inference.md). One array is a sentence, a list of arrays a batch, and the result is "
        "one or a list accordingly. `options` are the entries of `Options`, or of `FirstOrder` for queries "
        "without higher-order parts.",
        [
            (
                "arbora.inference.queries",
                (
                    "argmax",
                    "kbest",
                    "log_partition",
                    "marginals",
                    "marginals_along",
                    "log_prob",
                    "entropy",
                    "kl_divergence",
                    "expected_wrong_heads",
                    "sample",
                    "minimum_risk",
                    "arc_marginals",
                ),
            ),
            ("arbora.inference._parts", ("FirstOrder", "Options", "Marginals")),
            ("arbora.inference.distribution", ("TreeDistribution",)),
            ("arbora.inference.torch", ("TreeDistribution", "Drawn")),
        ],
    ),
    (
        "Treebanks",
        "See [Treebanks](treebanks.md) and [Projectivity](projectivity.md).",
        [
            ("arbora.data.treebank", ("read", "write", "read_columns", "convert")),
            ("arbora.data.sentence", ("Sentence", "Word", "MultiwordToken", "EmptyNode")),
            ("arbora.data.tree", ("Tree",)),
            ("arbora.data.columns", ("Columns", "columns_of")),
            ("arbora.data.projectivize", ("projectivize", "deprojectivize", "PseudoProjective", "Restorer")),
            ("arbora.data.statistics", ("statistics",)),
            ("arbora.data.raw_text", ("raw_text",)),
            ("arbora.data.synthetic", ("generate",)),
            (
                "arbora.integrations.table",
                ("to_arrow", "to_pandas", "to_polars", "write_parquet", "from_table", "read_parquet"),
            ),
        ],
    ),
    (
        "Evaluation",
        "See [Evaluation](evaluation.md) and [Confidence](confidence.md).",
        [
            ("arbora.evaluation.aligned", ("evaluate_aligned",)),
            ("arbora.evaluation.attachment", ("evaluate",)),
            ("arbora.evaluation.scores", ("Evaluation", "Agreement")),
            (
                "arbora.evaluation.significance",
                ("compare", "sign_test", "paired_bootstrap", "approximate_randomization", "Comparison"),
            ),
            ("arbora.evaluation.calibration", ("calibration", "Calibration")),
        ],
    ),
    (
        "Pictures",
        "See [Pictures](pictures.md).",
        [
            ("arbora.web.terminal", ("draw",)),
            ("arbora.web.svg", ("draw_svg", "draw_svgs", "Look")),
            ("arbora.web.html", ("draw_html",)),
        ],
    ),
    (
        "Annotation",
        "See [Annotate a treebank](annotate.md) and [Confidence](confidence.md).",
        [
            (
                "arbora.annotation.doubt",
                ("order_sentences", "order_arcs", "sentence_doubts", "arc_doubts", "DoubtfulArc"),
            ),
            ("arbora.annotation.check", ("check", "Fault")),
            ("arbora.annotation.suspicious", ("suspicious_arcs", "SuspiciousArc")),
            ("arbora.annotation.project", ("Project",)),
        ],
    ),
    (
        "Large corpora and workers",
        "See [Large corpora](corpora.md) and [Training on several workers](distributed-training.md).",
        [
            ("arbora.distributed.corpus", ("parse", "Report")),
            ("arbora.distributed.parse_shard", ("CorpusOptions",)),
            ("arbora.distributed.engines", ("Pool",)),
            ("arbora.distributed.batches", ("ParseBatch",)),
        ],
    ),
    (
        "Classifiers",
        "See [Classifiers](classifiers.md); `arbora.learners` gives these names, too.",
        [
            ("arbora.classification.classifier", ("OnlineClassifier",)),
            ("arbora.classification.classes", ("hierarchical_costs",)),
            (
                "arbora.classification.rows",
                ("SparseRows", "sparse_rows", "hashed_rows", "quadratic_expansion"),
            ),
        ],
    ),
    (
        "Extending",
        "See [Extending](extending.md) and [Learners](learners.md).",
        [
            ("arbora.registry", ("Registry",)),
            (
                "arbora.interfaces",
                (
                    "Query",
                    "PartKind",
                    "Best",
                    "Family",
                    "Scorer",
                    "Loss",
                    "Cost",
                    "GoldTree",
                    "Problem",
                    "Answer",
                    "Candidates",
                    "Listing",
                    "Learner",
                    "Learned",
                    "Epoch",
                ),
            ),
            ("arbora.learners._online", ("OnlineTrainer",)),
            ("arbora.features._templates", ("Templates", "TemplateSet", "TransitionTemplates")),
            ("arbora.costs", ("TreeCost",)),
            ("arbora.losses.hinge", ("augmented",)),
            ("arbora.inference.tree_parts", ("restricted", "tree_parts")),
            ("arbora.scorers.torch", ("TorchScorer",)),
            ("arbora.search.base", ("Search",)),
            ("arbora.search.parts", ("PartSearch",)),
            ("arbora.data.encode", ("Batch",)),
        ],
    ),
    (
        "Model files and settings",
        "See [Model files](model-file.md).",
        [
            ("arbora.storage.model_file", ("read_model", "write_model", "ModelFile")),
            ("arbora.storage.quantization", ("quantize", "dequantize")),
            (
                "arbora.settings",
                (
                    "parameter",
                    "Parameter",
                    "Settings",
                    "Configured",
                    "load_config",
                    "from_dict",
                    "to_dict",
                    "to_toml",
                    "merge",
                ),
            ),
        ],
    ),
    (
        "Errors",
        "",
        [("arbora.errors", ("ArboraError", "InputError", "NoTreeError", "DataError", "ModelError"))],
    ),
]

# Where a name is imported from, if not from the module that defines it.
IMPORTED_FROM = {
    "arbora.inference.queries": "arbora.inference",
    "arbora.inference._parts": "arbora.inference",
    "arbora.learners._online": "arbora.learners",
    "arbora.distributed.corpus": "arbora.distributed",
    "arbora.distributed.parse_shard": "arbora.distributed",
    "arbora.distributed.engines": "arbora.distributed",
    "arbora.distributed.batches": "arbora.distributed",
    "arbora.classification.classifier": "arbora.classification",
    "arbora.classification.classes": "arbora.classification",
    "arbora.classification.rows": "arbora.classification",
    "arbora.features._templates": "arbora.features",
}
ENUMS = {"Enum", "StrEnum"}
FIELDS = {"NamedTuple", "TypedDict"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def public_names() -> dict[str, str]:
    """The names that `arbora` exports, by the module that defines them."""
    tree = ast.parse((ROOT / "src/arbora/__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_MODULES":
            found: dict[str, str] = ast.literal_eval(node.value)
            return found
    raise SystemExit("src/arbora/__init__.py: expected _MODULES, got none")


def parsed(module: str) -> ast.Module:
    """The source of a module."""
    path = ROOT / "src" / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def definition(module: str, name: str) -> ast.ClassDef | Function:
    """The class or function of that name; for overloads the last definition, which has the body."""
    found = [
        node
        for node in parsed(module).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    if not found:
        raise SystemExit(f"{module}: expected a class or function {name}, got none; correct SECTIONS")
    return found[-1]


def summary(node: ast.ClassDef | Function) -> str:
    """The first paragraph's first line; a docstring's first line is a sentence here."""
    return (ast.get_docstring(node) or "").partition("\n")[0]


def signature(node: Function, *, method: bool = False) -> str:
    """Parameters and result as written, on one line; `self` and `cls` left out."""
    shown = list(parameters(node.args))
    if method and not is_decorated(node, "staticmethod"):
        shown = shown[1:]
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({', '.join(shown)}){result}"


def parameters(arguments: ast.arguments) -> Iterator[str]:
    """Each parameter as written, with the marks `/` and `*` between them."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for place, (each, default) in enumerate(zip(plain, defaults, strict=True), start=1):
        yield parameter(each, default)
        if place == len(arguments.posonlyargs):
            yield "/"
    if arguments.vararg is not None:
        yield "*" + parameter(arguments.vararg)
    elif arguments.kwonlyargs:
        yield "*"
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield parameter(each, default)
    if arguments.kwarg is not None:
        yield "**" + parameter(arguments.kwarg)


def parameter(argument: ast.arg, default: ast.expr | None = None) -> str:
    """One parameter: `k: int = 1`."""
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    equal = " = " if kind else "="
    return f"{argument.arg}{kind}" + (f"{equal}{ast.unparse(default)}" if default is not None else "")


def is_decorated(node: Function | ast.ClassDef, *names: str) -> bool:
    """Whether it has one of these decorators."""
    return any(ast.unparse(decorator).partition("(")[0] in names for decorator in node.decorator_list)


def fields_of(node: ast.ClassDef) -> str | None:
    """The fields of a dataclass, named tuple or typed dictionary as a signature; None for other classes."""
    bases = {ast.unparse(base) for base in node.bases}
    if not (is_decorated(node, "dataclass") or bases & FIELDS):
        return None
    fields = [
        f"{ast.unparse(each.target)}: {ast.unparse(each.annotation)}"
        for each in node.body
        if isinstance(each, ast.AnnAssign)
        and not ast.unparse(each.annotation).startswith("ClassVar")
        and not ast.unparse(each.target).startswith("_")
    ]
    return f"({', '.join(fields)})"


def members(node: ast.ClassDef) -> Iterator[str]:
    """A line for each documented class variable, and each public method and property."""
    for variable, text in pairwise(node.body):
        if not (isinstance(variable, ast.AnnAssign) and isinstance(text, ast.Expr)):
            continue
        outer, _, kind = ast.unparse(variable.annotation).removesuffix("]").partition("[")
        if outer == "ClassVar" and isinstance(text.value, ast.Constant):
            said = str(text.value.value).partition("\n")[0]
            yield f"    - `.{ast.unparse(variable.target)}: {kind}`: {said}"
    methods: dict[str, Function] = {}
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not is_decorated(each, "overload"):
            methods[each.name] = each
        elif isinstance(each, ast.Assign) and ast.unparse(each.value).startswith("Share("):
            yield f"    - `.{ast.unparse(each.targets[0])}: float`"
    for name, method in methods.items():
        if name.startswith("_") and name != "__call__":
            continue
        text = summary(method)
        said = f": {text}" if text else ""
        if is_decorated(method, "property", "cached_property"):
            result = f": {ast.unparse(method.returns)}" if method.returns else ""
            yield f"    - `.{name}{result}`{said}"
        else:
            yield f"    - `.{name}{signature(method, method=True)}`{said}"


def entry(module: str, name: str) -> Iterator[str]:
    """The lines of one name."""
    node = definition(module, name)
    said = f": {summary(node)}" if summary(node) else ""
    if not isinstance(node, ast.ClassDef):
        yield f"- `{name}{signature(node)}`{said}"
        return
    made = fields_of(node)
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            made = signature(each, method=True).removesuffix(" -> None")
    yield f"- `class {name}{made or ''}`{said}"
    if ENUMS & {ast.unparse(base) for base in node.bases}:
        values = [ast.unparse(each.targets[0]) for each in node.body if isinstance(each, ast.Assign)]
        yield f"    - {', '.join(f'`{value}`' for value in values)}"
        return
    yield from members(node)


def page(title: str, headings: tuple[str, ...], public: dict[str, str]) -> str:
    """A page with some sections."""
    lines = [f"# API: {title}"]
    for heading, text, modules in (section for section in SECTIONS if section[0] in headings):
        lines += ["", f"## {heading}", *(["", text] if text else [])]
        before = ""
        for module, names in modules:
            here = [name for name in names if public.get(name) == module]
            place = IMPORTED_FROM.get(module, module)
            also = f" ({', '.join(f'`arbora.{name}`' for name in here)})" if here else ""
            if place != before:
                lines += ["", f"**`{place}`**{also}", ""]
            before = place
            for name in names:
                lines += entry(module, name)
    return "\n".join(lines) + "\n"


def start() -> str:
    """The page that leads to the others: every name, by section."""
    lines = [
        "# API reference",
        "",
        "The public names of the package. The page of a section has their signatures and what they are for;",
        "docstrings say more (`help(arbora.load)`). There modules are in bold, and names in brackets can",
        "also be imported from `arbora`. `make api` writes these pages.",
        "",
        "| section | names |",
        "|---|---|",
    ]
    places = {heading: page for page, (_, headings) in PAGES.items() for heading in headings}
    for heading, _, modules in SECTIONS:
        names = dict.fromkeys(f"`{name}`" for _, names in modules for name in names)
        anchor = heading.lower().replace(" ", "-")
        lines.append(f"| [{heading}]({places[heading]}#{anchor}) | {', '.join(names)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the pages, or check whether they are up to date."""
    public = public_names()
    pages = {START: start(), **{name: page(*about, public) for name, about in PAGES.items()}}
    if sys.argv[1:] == ["--check"]:
        current = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("api*.md")}
        wrong = [name for name in sorted({*pages, *current}) if pages.get(name) != current.get(name)]
        if wrong:
            print(f"{', '.join(wrong)}: out of date; `make api` writes the pages anew", file=sys.stderr)
        return int(bool(wrong))
    for name, text in pages.items():
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
