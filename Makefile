# Every target fills .venv by itself from the pinned, hashed lock: Python 3.11+ and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := VIRTUAL_ENV=$(VENV) $(BIN)/uv
PIN := $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links
ARGS ?=

# A mirror that pip was told of serves uv as well.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif

.PHONY: setup serve test check bench faults docs lock clean help

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/.filled: installer.lock requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r installer.lock
	$(UV) pip install --require-hashes -r requirements.lock
	$(UV) pip install --no-build-isolation --no-deps -e .
	touch $@

setup: $(VENV)/.filled ## fill .venv

serve: setup ## run the server; ARGS="--port 9000 --data ./data"
	$(BIN)/commonplace serve $(ARGS)

check: setup ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check ## everything that must hold, on both stores
	$(BIN)/python -m pytest -n 3 --dist worksteal $(ARGS)

docs: setup ## regenerate docs/operations and the tool snapshots
	$(BIN)/python -m commonplace.edges.docs

bench: setup ## ratios measured in one run
	$(BIN)/python -m bench $(ARGS)

faults: setup ## kill -9, replicas, slow clients: the long form
	$(BIN)/python -m pytest -n 0 tests/faults tests/rooms/test_lock_machine.py --long $(ARGS)

lock: setup ## pin again
	$(PIN) pyproject.toml --group dev -o requirements.lock
	echo uv | $(PIN) - -o installer.lock

clean: ## forget everything that was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache node_modules
