# Every target sets up what it needs in .venv; on a fresh machine `make demo` and `make test` are all there is to know.
PYTHON ?= python3
BIN := .venv/bin
FUZZ_SECONDS ?= 60
SOURCES := $(shell find core bindings -name '*.cpp' -o -name '*.hpp' -o -name CMakeLists.txt) CMakeLists.txt

.PHONY: demo test test-python test-core fuzz fuzz-conll bench lint docs stubs clean

demo: .venv/built
	$(BIN)/python -m arbora demo

test: test-core test-python fuzz

test-python: .venv/built
	$(BIN)/python -m pytest -q

# The core's own tests, under address and undefined-behaviour sanitizers.
test-core: build/sanitize/arbora_core_tests
	build/sanitize/arbora_core_tests

build/sanitize/arbora_core_tests: .venv/tools $(SOURCES)
	$(BIN)/cmake -S core -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DARBORA_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo > /dev/null
	$(BIN)/cmake --build build/sanitize
	@touch $@

# One fuzz target for FUZZ_SECONDS, from the seeds in core/fuzz/seeds; what it learns stays in build/fuzz.
fuzz-conll: build/fuzz/fuzz_conll
	mkdir -p build/fuzz/corpus-conll && cp -n core/fuzz/seeds/conll/* build/fuzz/corpus-conll/
	cd build/fuzz && ./fuzz_conll --seconds $(FUZZ_SECONDS) --corpus corpus-conll

build/fuzz/fuzz_%: .venv/tools $(SOURCES)
	$(BIN)/cmake -S core -B build/fuzz -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DARBORA_SANITIZE=ON -DARBORA_COVERAGE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo > /dev/null
	$(BIN)/cmake --build build/fuzz --target fuzz_$*
	@touch $@

lint: .venv/built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m nanobind.stubgen -q -m arbora._core -o build/_core.pyi
	diff -u src/arbora/_core.pyi build/_core.pyi

# Regenerates the committed stub of the native module; `make lint` fails when it is out of date.
stubs: .venv/built
	$(BIN)/python -m nanobind.stubgen -q -m arbora._core -o src/arbora/_core.pyi

.venv/tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q 'scikit-build-core>=0.10' 'nanobind>=2.4' cmake ninja
	@touch $@

.venv/installed: .venv/tools
	$(BIN)/python -m pip install -q --no-build-isolation -e '.[test,lint]'
	@touch $@ .venv/built

.venv/built: .venv/installed $(SOURCES)
	$(BIN)/python -m pip install -q --no-build-isolation --no-deps -e .
	@touch $@

clean:
	rm -rf build .venv dist site
