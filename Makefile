# One entry point for people, .ci/run and GitHub alike. `make help` lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
NODE_DIR := tests/e2e/node
PROTO_DIR := ktms/api/admin_grpc/proto
PURE := domain dialects vendors
COMMA := ,
EMPTY :=
SPACE := $(EMPTY) $(EMPTY)
LOCK := uv pip compile pyproject.toml --generate-hashes --no-emit-index-url --no-annotate --no-header --universal --python-version 3.11 --quiet

# Branch coverage of all of ktms in per cent. Raise it when it is beaten, never lower it.
COVERAGE_FLOOR := 85

.PHONY: help install up test coverage check bench bench-sim sim swarm matrix chaos release lock proto format clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 19

install: .venv/.installed $(NODE_DIR)/node_modules/.installed ## create .venv with everything; quick when nothing changed
	@$(if $(filter install,$(MAKECMDGOALS)),echo "ready: make up",:)

.venv/.installed: pyproject.toml release/requirements/dev.txt .ci/install
	@.ci/install
	@touch $@

$(NODE_DIR)/node_modules/.installed: $(NODE_DIR)/package.json $(NODE_DIR)/package-lock.json
	@.ci/install-node $(NODE_DIR)

up: .venv/.installed ## run the whole gateway on this machine (ARGS="--port 9000" hands options on)
	@$(BIN)/ktms up $(ARGS)

test: install ## every test that needs nothing but this machine; the pure rooms must be covered whole
	@rm -f .coverage .coverage.*
	@$(BIN)/coverage run -m pytest -q $(PURE:%=tests/%)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --fail-under=100 --include="$(subst $(SPACE),$(COMMA),$(PURE:%=ktms/%/*))"
	@$(BIN)/pytest -q -n 2 --dist loadfile $(PURE:%=--ignore=tests/%) --ignore=tests/tidy tests

coverage: install ## the whole suite under coverage, product processes included; the floor only ever rises
	@rm -f .coverage .coverage.*
	@$(BIN)/coverage run --parallel-mode -m pytest -q -n 2 --dist loadfile --ignore=tests/tidy tests
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --fail-under=$(COVERAGE_FLOOR)

check: install ## style, types, rooms, dead code, dependencies, SQL, shell, workflows, the house rules
	@.ci/check

format: install ## let the tools write what they can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: install ## pin the newest versions that pyproject.toml allows, with their hashes
	@$(BIN)/$(LOCK) --upgrade --all-extras --group dev -o release/requirements/dev.txt
	@$(BIN)/$(LOCK) --upgrade --extra all --constraint release/requirements/dev.txt -o release/requirements/server.txt
	@$(BIN)/$(LOCK) --upgrade --constraint release/requirements/dev.txt -o ktms/node/requirements.txt
	@cd $(NODE_DIR) && rm -f package-lock.json && npm install --package-lock-only

proto: install ## generate the code of the gRPC APIs from their .proto files
	@.ci/proto

bench: install ## measure cost and latency of the gateway against nginx and others
	@[ -e tests/perf/__main__.py ] || { $(call not-yet,the benchmark); }
	@$(BIN)/python -m tests.perf $(ARGS)

sim: install ## run one simulated world: make sim SEED=1 (SCENARIO=FV3 for another)
	@$(BIN)/python -m sim run --seed $(or $(SEED),1) $(if $(SCENARIO),--scenario $(SCENARIO)) $(ARGS)

swarm: install ## run random worlds for a while: make swarm MINUTES=3
	@$(BIN)/python -m sim swarm --minutes $(or $(MINUTES),3) $(ARGS)

matrix: install ## every failure that is documented, and the scenario that proves it
	@$(BIN)/python -m sim coverage $(ARGS)

bench-sim: install ## measure how fast simulated worlds are, against their bars
	@$(BIN)/python -m sim bench $(ARGS)

.toxiproxy/toxiproxy-server: .ci/install-toxiproxy
	@.ci/install-toxiproxy
	@touch -c $@

chaos: install .toxiproxy/toxiproxy-server ## break real services under real traffic and judge it: make chaos
	@[ -e chaos/__main__.py ] || { $(call not-yet,the chaos suite); }
	@$(BIN)/python -m chaos run $(ARGS)

release: ## build, sign and verify a release (not here yet)
	@$(call not-yet,the release pipeline)

clean: ## remove what was installed and cached; data of the gateway stays
	@rm -rf .venv .toxiproxy $(NODE_DIR)/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage

define not-yet
echo "make $@: $(1) is planned and not part of this release yet (ARCHITECTURE.md says where it will live)"; exit 2
endef
