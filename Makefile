# What developers run. Everything is installed into .venv and .servers, both inside the checkout and ignored by git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST_WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test lint servers unit bench bench-recall docs clean

help:
	@echo "make demo          install the command line and run the demo"
	@echo "make test          install the test tools and servers, then lint, type-check and run every test"
	@echo "make unit          quick run: tests on SQLite only (TEST_SERVERS=sqlite)"
	@echo "make lint          style, types and layers"
	@echo "make servers       obtain the database servers of the tests (python -m tests.servers list shows them)"
	@echo "make bench         speed at a large table; make bench-recall: how much a search finds"
	@echo "make docs          write the parts of docs/ and config.yaml that come from the code"
	@echo "make clean         remove what is built; add ALL=1 for .venv and the downloaded servers"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; this is $$($(PYTHON) --version 2>&1). Run: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || $(PYTHON) -m virtualenv $(VENV) || \
	  { rm -rf $(VENV); echo "No virtual environment could be made. On Debian: apt-get install python3-venv" >&2; exit 1; }

# A stamp per set of extras: installing again is needed when pyproject.toml changed.
$(VENV)/.cli: pyproject.toml | $(BIN)/python
	@echo "installing into $(VENV) ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "installing into $(VENV) ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

demo: $(VENV)/.cli
	@$(BIN)/prompt-engine demo

servers: $(VENV)/.test
	$(BIN)/python -m tests.servers install

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: servers lint
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS)

unit: $(VENV)/.test
	TEST_SERVERS=sqlite $(BIN)/python -m pytest

bench: servers
	$(BIN)/python -m tests.bench

bench-recall: $(VENV)/.test
	$(BIN)/python -m tests.bench.recall

docs: $(VENV)/.test
	$(BIN)/python -m core.config_docs .
	$(BIN)/python -m core.store.schema_files
	$(BIN)/python -m tests.api_page

clean:
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage htmlcov
	find core tests sql -name __pycache__ -type d -prune -exec rm -rf {} +
	$(if $(ALL),rm -rf $(VENV) .servers)
