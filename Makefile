# Every target installs what it needs from pinned, hashed locks: Python 3.11+ and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIN := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links
ARGS ?=
EXTRAS ?=
# Several test processes compile the same files: what the first one compiled serves the others.
unexport PYTHONDONTWRITEBYTECODE
# SQLite waits for the disk at every commit. Where memory can hold the folders of tests, they wait for none.
MEMORY_KILOBYTES := $(shell df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)
ifneq ($(shell [ "$(MEMORY_KILOBYTES)" -gt 4000000 ] 2>/dev/null && echo enough),)
export PYTEST_DEBUG_TEMPROOT ?= /dev/shm
endif
BUILD := tools/environment.py tools/embedding_model.py tools/embedding_graph.py installer.lock model.lock pyproject.toml

.PHONY: help setup serve develop check audit sbom quick test all-tests docs site bench bench-search faults soak fuzz incidents citus agents browser lock release clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

ifneq ($(EXTRAS),)
.PHONY: $(VENV)/.runtime
endif
$(VENV)/.runtime: $(BUILD) requirements.lock
	$(PYTHON) tools/environment.py runtime $(EXTRAS)

$(VENV)/.development: $(BUILD) requirements.lock development.lock
	$(PYTHON) tools/environment.py development

setup: $(VENV)/.runtime ## install what the server needs; EXTRAS="postgresql mysql mssql s3 oauth languages"

serve: setup ## run the server; ARGS="--port 9000 --data ./data"
	$(BIN)/commonplace serve $(ARGS)

develop: $(VENV)/.development ## install what tests and checks need as well

check: develop ## lint, format, types, and known vulnerabilities where the service can be reached
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/software_parts.py audit --if-reachable

audit: develop ## ask the OSV database for known vulnerabilities of what is pinned
	$(BIN)/python tools/software_parts.py audit

sbom: develop ## list what the default install contains in dist/commonplace.cdx.json (CycloneDX)
	$(BIN)/python tools/software_parts.py sbom

quick: develop ## tests on SQLite that start no process, in less than a minute
	$(BIN)/python -m pytest -n 3 --dist worksteal --quick $(ARGS)

test: develop ## lint, types and all tests, on SQLite and PostgreSQL
	$(MAKE) -j 2 check all-tests

all-tests: develop
	$(BIN)/python -m pytest -n 4 --dist worksteal $(ARGS)

docs: setup ## regenerate docs/operations, the tool snapshots and the manifests of plugins
	$(BIN)/python tools/operation_docs.py
	$(BIN)/python tools/manifests.py

site: setup ## write the documentation as a folder of HTML files, build/site
	PYTHONPATH=tools $(BIN)/python -m documentation.write_site build/site

bench: develop ## run the benchmarks and print ratios
	$(BIN)/python -m bench $(ARGS)

bench-search: develop ## how well search finds, beside FTS5 and other memory servers; SETS=folder of public sets, ARGS="--only learnings"
	$(BIN)/python -m bench.search_quality --peers build/peers --vectors build/vectors --write $(if $(SETS),--sets $(SETS)) $(ARGS)
	nice $(BIN)/python -m bench.search_parts $(if $(SETS),--sets $(SETS))

faults: develop ## kill -9, lost power, broken databases, networks and clocks, with a checker; LONG=1: for hours
ifneq ($(LONG),)
	cd tests/faults && PYTHONPATH=.:..:../.. ../../$(BIN)/python -m nemesis.campaign $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)
else
	$(BIN)/python -m pytest -n 0 tests/faults tests/rooms/test_lock_machine.py tests/search/test_visibility.py tests/client/hooks/test_hook_remote.py --long $(ARGS)
endif

soak: develop ## thirty agents for SECONDS (3600): do memory, descriptors, threads, log or p99 grow?
	cd tests/faults && PYTHONPATH=.:..:../.. ../../$(BIN)/python -m nemesis.soak --seconds $(or $(SECONDS),3600) $(ARGS)

fuzz: develop ## random input on every surface for SECONDS (600), then new examples for the tests of properties; FUZZ_SEED=n repeats a run
	$(BIN)/python -m pytest -n 0 -s tests/fuzz --fuzz-seconds $(or $(SECONDS),600) $(ARGS)
	$(BIN)/python -m pytest -n 0 -m hypothesis --long $(ARGS)

incidents: develop ## what agents did to each other in one clone, replayed with real hooks and git
	$(BIN)/python -m pytest -n 0 tests/client/hooks/test_own_commits.py tests/client/hooks/test_hostile_lines.py tests/client/hooks/test_ordinary_sessions.py tests/client/hooks/test_edit_pairs.py --long $(ARGS)

citus: develop ## rooms and store on a real Citus, then every statement explained there; DSN=postgresql://user@coordinator/database, which is emptied
	@test -n "$(DSN)" || (echo "Nothing was shown: DSN=postgresql://user@coordinator/database names no Citus." && exit 1)
	rm -f .citus-statements
	TEST_CITUS_DSN="$(DSN)" TEST_STATEMENTS=.citus-statements $(BIN)/python -m pytest -n 0 -k "citus" $(or $(TESTS),tests/store tests/rooms tests/search) $(ARGS)
	TEST_CITUS_DSN="$(DSN)" TEST_STATEMENTS=.citus-statements $(BIN)/python -m pytest -n 0 tests/store/test_citus_statements.py

agents: develop ## the real agent programs, installed from npm, against a scripted model
	$(BIN)/python -m pytest -n 0 -rs tests/agents --agents $(ARGS)

newcomer: develop ## what somebody new does in the first hour, as scripts: seconds and commands; ARGS="--program PATH", or --agents: with Claude Code and Codex from npm
	$(BIN)/python tools/newcomer.py $(ARGS)

browser: develop ## the web page in a headless Chromium, which is installed where apt-get can; screenshots to docs/images/page
	@command -v chromium chromium-browser google-chrome >/dev/null || (apt-get update -q && apt-get install -y -q chromium) || (echo "Install Chromium first: its program must be chromium, chromium-browser or google-chrome."; exit 1)
	$(BIN)/python -m pytest -n 0 -rs tests/browser --long $(ARGS)
	$(BIN)/python tests/browser/screenshots.py

lock: develop ## pin the dependencies again
	$(PIN) pyproject.toml --extra mysql --extra mssql -o requirements.lock
	$(PIN) pyproject.toml --group dev -c requirements.lock -o development.lock
	printf 'uv\nhatchling\neditables\n' | $(PIN) - -o installer.lock

release: check ## build the wheel and try it in a clean environment
	$(BIN)/python tools/release.py
	$(BIN)/python tools/software_parts.py sbom

clean: ## remove everything that was built or installed
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis src/commonplace/search/bge-small-en-v1.5 tests/conformance/node_modules tests/agents/node_modules tests/browser/node_modules
