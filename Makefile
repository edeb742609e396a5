# Every target works on a fresh machine with Python 3.11+, make and pip: it sets up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# data and tools for development, where they are at hand: tests, benchmarks and some sections of the page use them
ifneq ($(wildcard ../shared/data),)
export SEMINORM_DATA ?= $(abspath ../shared/data)
export SEMINORM_SURFBENCH ?= $(abspath ../shared/bench/surfbench.py)
endif

.PHONY: demo docs quick test lint sanitize wheel bench reproduce pictures clean

NATIVE := CMakeLists.txt tools/backend.py $(shell find native -name '*.?pp')

$(STAMP): pyproject.toml $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit("seminorm needs Python 3.11 or newer: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) 'scikit-build-core>=1.1' 'nanobind>=3.1'
	$(BIN)/python tools/backend.py | xargs -r $(PIP)
	$(PIP) --no-build-isolation --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python -m gallery

# the documentation site in site/; what the scripts of the gallery return is kept in build/ until they or the library change
DOCS := $(VENV)/.docs
$(DOCS): $(STAMP)
	$(PIP) --no-build-isolation --editable '.[docs]'
	touch $(DOCS)

docs: $(DOCS)
	$(BIN)/python -m docs.website

quick: $(STAMP)
	$(BIN)/python -m pytest -n auto -m "not slow" tests

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(filter %.hpp %.cpp,$(NATIVE))

# the tests of the compiled core under AddressSanitizer and UndefinedBehaviorSanitizer: a few minutes
sanitize: $(STAMP)
	tools/sanitize.sh $(BIN)/python -k "not ctrl_c and not fork and not omp and not symbols and not threadpoolctl"

wheel: $(STAMP)
	$(PIP) build
	$(BIN)/python -m build --no-isolation

# each script runs us and the peer in one run and prints the ratio; use an idle machine
bench: $(STAMP)
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# each script prints what the source says and what we get: a few minutes each, or hours with FULL=1
reproduce: $(STAMP)
	@for script in reproduce/[a-z]*.py; do \
	  quick=$$(test -z "$(FULL)" && grep -q -- --quick $$script && echo --quick); \
	  echo "== $$script $$quick"; $(BIN)/python $$script $$quick || exit 1; \
	done

pictures: $(STAMP)
	$(BIN)/python -m docs.make_pictures

clean:
	rm -rf $(VENV) demo site build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
