# make demo   the whole story on the bundled graph
# make test   everything that must hold
# Both set up a local .venv once, with the tool versions of constraints.txt.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check clean

demo: .venv/.ready
	$(BIN)/gvdn demo

test: .venv/.ready-dev check
	$(BIN)/python -m pytest

check: .venv/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf .venv gvdn-demo

# torch comes first and by its pin, so that no other package chooses a build of it.
.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("gvdn needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/.ready-dev: .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
