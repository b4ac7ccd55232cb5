# make demo: set up, train on the bundled sample, evaluate and explain.   make test: set up and run all tests.
# make test-floor: the same with the lowest versions that pyproject.toml allows (Python 3.11), in .venv-floor.
# make reproduce PAPER=instance: run a paper's jobs from the corpora in data/ and write its tables.
# make docs: build the documentation into site/.   make docs-serve: show it at http://127.0.0.1:8000 and follow changes.
PYTHON ?= python3
VENV   ?= .venv
CONSTRAINTS ?= constraints.txt
EXTRA  ?= dev
BIN    := $(VENV)/bin
WORKERS ?= auto
DATA    ?= data
AT_ONCE ?= 1

export NO_MKDOCS_2_WARNING := 1

.PHONY: demo test test-floor lint docs docs-serve reproduce setup clean

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS) --editable '.[$(EXTRA)]'
	touch $@

demo: setup
	$(BIN)/nearspan demo

# one thread a worker: several that share cores spend their time waiting for each other; who is done takes over from others
test: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests src

test-floor:
	$(MAKE) test VENV=.venv-floor CONSTRAINTS=constraints-floor.txt EXTRA=test

lint: setup
	$(BIN)/ruff check src tests benchmarks docs/*.py
	$(BIN)/ruff format --check src tests benchmarks docs/*.py
	$(BIN)/mypy
	$(BIN)/lint-imports

# the site is built from the source as text: neither the package nor torch is installed for it
$(VENV)/.docs: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['docs'], sep='\n')" > $(VENV)/docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --requirement $(VENV)/docs.txt
	touch $@

reproduce: setup
	$(BIN)/python benchmarks/reproduce.py $(PAPER) --data $(DATA) --at-once $(AT_ONCE) $(OPTIONS)

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --quiet

docs-serve: $(VENV)/.docs
	$(BIN)/mkdocs serve

clean:
	rm -rf $(VENV) .venv-floor site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
