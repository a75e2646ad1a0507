# make demo   train, perturb and recover on the bundled graph
# make test   everything that must hold
# make docs   the documentation, in docs/_build/html
# Each sets up a local .venv once, with the tool versions of constraints.txt.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check docs fuzz crash mutants clean

demo: .venv/.ready
	$(BIN)/gvdn demo --force

test: .venv/.ready-dev check
	$(BIN)/python -m pytest

check: .venv/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/.ready-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html

# Slower harnesses that are not part of the gate yet: hostile files, kills at every file operation, changes to src.
fuzz: .venv/.ready-dev
	$(BIN)/python tests/fuzz/run.py --cases 100000

crash: .venv/.ready-dev
	$(BIN)/python tests/crash/run.py

mutants: .venv/.ready-dev
	$(BIN)/python tools/mutants.py --number 200

clean:
	rm -rf .venv gvdn-demo docs/_build

# torch comes first and by its pin, so that no other package chooses a build of it.
.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("gvdn needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) torch
	$(PIP) -e .
	touch $@

.venv/.ready-dev: .venv/.ready
	$(PIP) -e '.[dev]'
	touch $@

.venv/.ready-docs: .venv/.ready
	$(PIP) -e '.[docs]'
	touch $@
