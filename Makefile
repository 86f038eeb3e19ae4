# Every command that people and CI use. `make up` and `make test` need Python 3.11 or newer and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := gateway engine memory mesh
CALLERS_PATH := $(PATH)
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHONPATH := $(CURDIR):$(CURDIR)/gen
export BUF_CACHE_DIR := $(CURDIR)/.cache/buf

.DEFAULT_GOAL := help
.PHONY: help up setup setup-dev test test-unit test-contract test-mesh test-reliability check lint format types imports proto proto-check docs docs-check lock clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 20

up: export PATH := $(CALLERS_PATH)
up: setup ## install what running needs and start everything on this machine
	@$(BIN)/mnemesh up

setup: $(VENV)/.run-$(shell cksum < requirements.lock | cut -d' ' -f1) ## install what running needs into .venv

setup-dev: $(VENV)/.dev-$(shell cksum < requirements-dev.lock | cut -d' ' -f1) ## install what developing and testing need

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Mnemesh needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv $(VENV) || { echo "Python cannot make a virtual environment here; on Debian and Ubuntu: apt install python3-venv" >&2; rm -rf $(VENV); exit 1; }

$(VENV)/.run-%: $(VENV)/bin/python
	@$(PYTHON) tools/install.py $(VENV) requirements.lock
	@touch $@

$(VENV)/.dev-%: $(VENV)/bin/python
	@$(PYTHON) tools/install.py $(VENV) requirements-dev.lock
	@touch $@ $(VENV)/.run-$(shell cksum < requirements.lock | cut -d' ' -f1)

test: setup-dev ## install what tests need and run them all
	@$(BIN)/pytest -n 2 --dist worksteal -q

test-unit: setup-dev ## tests without I/O
	@$(BIN)/pytest -q tests/unit

test-contract: setup-dev ## one server in process on a real PostgreSQL
	@$(BIN)/pytest -q -n 2 --dist worksteal tests/contract

test-mesh: setup-dev ## all servers, HTTP through the gateway
	@$(BIN)/pytest -q tests/mesh

test-reliability: setup-dev ## faults: processes killed at random
	@$(BIN)/pytest -q tests/reliability

check: lint types imports proto-check docs-check ## everything that is checked without running the servers

lint: setup-dev ## style, spelling, sizes of files
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/check_file_sizes.py
	@$(BIN)/codespell

format: setup-dev ## format code and contracts
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/buf format -w --path proto/mnemesh

types: setup-dev ## mypy, strict
	@$(BIN)/mypy $(foreach package,$(PACKAGES),-p $(package))

imports: setup-dev ## who may import whom, and which dependencies are declared
	@$(BIN)/lint-imports
	@$(BIN)/deptry .

proto: setup-dev ## write gen/ from proto/
	@$(BIN)/buf format -w --path proto/mnemesh
	@$(BIN)/python tools/generate_protos.py

proto-check: setup-dev ## contracts: lint, format, breaking changes, stale stubs
	@$(BIN)/buf lint
	@$(BIN)/buf format -d --exit-code --path proto/mnemesh
	@$(BIN)/python tools/check_breaking.py
	@$(BIN)/python tools/generate_protos.py --check

docs: setup-dev ## write the reference pages of docs/ from the code
	@$(BIN)/python tools/document_reference.py

docs-check: setup-dev ## the reference pages are what the code says
	@$(BIN)/python tools/document_reference.py --check

lock: ## resolve the dependencies anew (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet --all-extras --group build pyproject.toml -o requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet --all-extras --group build --group dev pyproject.toml -c requirements.lock -o requirements-dev.lock

clean: ## remove the local environment and caches
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
