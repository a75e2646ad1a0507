# make demo   train, perturb and recover on the bundled graph
# make test   everything that must hold
# make bench  seconds and memory of every stage, beside a plain GCN
# make docs   the documentation, in docs/_build/html
# make fuzz, crash, mutants, audit, lock, release-check   before a release; CONTRIBUTING.md says what each does
# Each sets up a local .venv once, with the versions of constraints.txt. With LOCKED=1, as in CI, every package that is
# installed must have a hash of requirements-lock.txt.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PIP := $(INSTALL) -c constraints.txt
LOCK := $(INSTALL) --require-hashes --no-deps -r requirements-lock.txt
CASES ?= 100000
SEED ?= 0
MUTANTS ?= 200
PYTHONS ?= python3.11 python3.12

.PHONY: demo bench test test-as-used test-parts test-cluster check docs fuzz crash mutants audit lock release-check clean

# One thread: two are hardly faster on a graph of this size, and many times slower where other work holds a core.
demo: .venv/.ready
	OMP_NUM_THREADS=1 $(BIN)/gvdn demo --force

# Two halves at once, for two cores, one thread each; the output of each comes in one piece when it ends.
test: .venv/.ready-dev check
	$(MAKE) --jobs=2 --output-sync=target test-as-used test-parts test-cluster

test-as-used: .venv/.ready-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -p no:cacheprovider tests/cli tests/contract

test-parts: .venv/.ready-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -p no:cacheprovider tests/unit tests/reference tests/fuzz tests/crash

# In a process of its own: Ray has threads, and other tests fork.
test-cluster: .venv/.ready-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -p no:cacheprovider tests/cluster

check: .venv/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# One thread, so that seconds are those of a core; nothing else should run meanwhile.
bench: .venv/.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks --rounds 5

docs: .venv/.ready-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html

fuzz: .venv/.ready-dev
	$(BIN)/python tests/fuzz/run.py --cases $(CASES) --seed $(SEED) --processes 2 --progress

crash: .venv/.ready-dev
	$(BIN)/python tests/crash/run.py

mutants: .venv/.ready-dev
	$(BIN)/python tools/mutants.py --number $(MUTANTS) --seed $(SEED)

# --strict: a package that the service does not know is a failure, not a line that nobody reads.
audit: .venv/.ready
	test -x .venv/audit/bin/pip-audit || { $(PYTHON) -m venv .venv/audit && .venv/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; }
	.venv/audit/bin/pip-audit --strict --disable-pip --require-hashes -r requirements-lock.txt || { echo "make audit: not passed: a package has a known vulnerability, or the service that knows them could not be asked; see above"; exit 1; }

lock: .venv/.ready
	$(BIN)/python tools/lock.py

release-check: .venv/.ready
	$(BIN)/python tools/release_check.py $(PYTHONS:%=--python %)

clean:
	rm -rf .venv gvdn-demo docs/_build

# torch comes first and by its pin, so that no other package chooses a build of it. The lock has all packages at once.
.venv/.ready: pyproject.toml constraints.txt $(if $(LOCKED),requirements-lock.txt)
	$(PYTHON) -c 'import sys; sys.exit("gvdn needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
ifdef LOCKED
	$(LOCK)
	$(INSTALL) --no-deps --no-build-isolation -e .
else
	$(PIP) torch
	$(PIP) -e .
endif
	touch $@

.venv/.ready-dev: .venv/.ready
	$(if $(LOCKED),$(LOCK),$(PIP) -e '.[dev,cluster]')
	touch $@

.venv/.ready-docs: .venv/.ready
	$(if $(LOCKED),$(LOCK),$(PIP) -e '.[docs]')
	touch $@
