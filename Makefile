# Works on a bare machine with Python 3.11 or newer and make. Everything goes into .venv.
.DEFAULT_GOAL := help
SHELL := /bin/sh
.SUFFIXES:

VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
SERVER := $(VENV)/.server
DEV := $(VENV)/.dev
COMPILED := $(VENV)/.compiled
ARGS ?=
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
# As many side by side as $(1) times the cores, of those that $(2) says. Each test waits for servers, processes and its
# own turn while others do. In CI one that failed among them is asked a second time, alone, when nothing else runs any
# more (`again`): both answers are shown, and what fails twice has failed.
side_by_side = $(PYTEST) -n $(shell expr $(1) '*' $(CORES)) --dist loadfile --no-loadscope-reorder $(2)
noted = $(if $(CI),|| { test $$? -eq 1 && touch $(VENV)/.failed-$(1); })
asked_again = $(PYTEST) --last-failed --last-failed-no-failures none --maxfail 3 $(1)
# Each of its processes reads all tests, and would compile them where bytecode is not to be written.
PYTEST = env PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
DELIVERIES := direct rabbitmq redis
# Tests of the engine and the API, which stand on whatever store and delivery the environment names
# (perseid.testing.ground). Others look into a store's file, or have a store of their own kind.
ON_A_STORE := $(addprefix tests/integration/,api crawls hook items runtime seeds sites worker) \
	$(addprefix tests/e2e/,conformance firecrawl security sites test_cases_api.py test_server.py \
	test_server_limits.py test_server_schema.py test_server_sites.py test_server_webhooks.py)
# Of commands, to which it is all the same how workers are told of work.
ON_A_STORE_ONCE := tests/e2e/test_cli_sites.py tests/e2e/test_tutorial.py
export URL OUT

.PHONY: help setup serve crawl url test run-main again-main compile-tests test-sinks check deploy-check \
	format chaos scale bench clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(DEV) $(COMPILED) ## .venv with the package (editable) and the tools of its development

serve: $(SERVER) $(COMPILED) ## the HTTP API on http://127.0.0.1:3002 (ARGS="--workers 2 --port 8080")
	@$(BIN)/perseid serve $(ARGS)

crawl: url $(CORE) $(COMPILED) ## crawl a site: make crawl URL=https://example.org/docs/ [OUT=folder] [ARGS="--limit 100"]
	@$(BIN)/perseid crawl "$$URL" $${OUT:+--out "$$OUT"} $(ARGS)

url:
	@test -n "$$URL" || { echo "say which site: make crawl URL=https://example.org/docs/ [OUT=folder]" >&2; exit 2; }

# What runs on PostgreSQL waits more than it works: it goes along, and is shown at its end.
test: $(DEV) $(COMPILED) ## all tests, and those of crawls and the API on PostgreSQL too, by each way of delivery
	@.ci/services
	@rm -f $(VENV)/.failed-*
	@$(MAKE) --no-print-directory --keep-going --jobs 3 run-main $(if $(ARGS),,$(addprefix beside-,$(DELIVERIES)))
	@$(again)

test-on-%: $(DEV) $(COMPILED) # on PostgreSQL: make test-on-direct, test-on-rabbitmq or test-on-redis
	@rm -f $(VENV)/.failed-*
	@$(MAKE) --no-print-directory run-$*
	@$(again)

again = for run in main $(DELIVERIES); do \
		test ! -e $(VENV)/.failed-$$run || \
			{ rm $(VENV)/.failed-$$run && $(MAKE) --no-print-directory again-$$run; } || exit 1; \
	done

run-main:
	$(call side_by_side,2,$(ARGS)) $(call noted,main)

again-main:
	$(call asked_again,$(ARGS))

beside-%:
	@mkdir -p .pytest_cache
	@$(MAKE) --no-print-directory run-$* >.pytest_cache/on-$*.log 2>&1; status=$$?; cat .pytest_cache/on-$*.log; exit $$status

on_postgresql = export PERSEID_TEST_STORE=postgresql PERSEID_TEST_DELIVERY=$*
chosen = -o cache_dir=.pytest_cache/$* $(ON_A_STORE) $(if $(filter direct,$*),$(ON_A_STORE_ONCE)) $(ARGS)

run-%:
	$(on_postgresql); $(call side_by_side,1,$(chosen)) $(call noted,$*)

again-%:
	$(on_postgresql); $(call asked_again,$(chosen))

compile-tests: $(DEV) $(COMPILED) # before many processes do it at once
	@$(PYTEST) --collect-only --quiet >/dev/null || true

check: $(DEV) ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-sinks: $(DEV) $(COMPILED) ## sinks against ClickHouse, S3 and Parquet (fetches 900 MB of engines)
	@.ci/services
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group sinks
	$(PYTEST) tests/conformance --override-ini=python_files='test_*_sink.py' $(ARGS)

deploy-check: $(DEV) ## lint, render and validate what lies in deploy/ (fetches 350 MB of tools)
	@$(BIN)/python -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["deploy"]))' \
		> $(VENV)/deploy-requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $(VENV)/deploy-requirements.txt
	PATH="$$PWD/$(BIN):$$PATH" $(PYTEST) tests/deploy $(ARGS)

format: $(DEV) ## put the sources into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

chaos: $(DEV) $(COMPILED) ## kill crawls again and again and compare the result
	@.ci/services
	PERSEID_CHAOS_KILLS=$${PERSEID_CHAOS_KILLS:-64} PERSEID_CHAOS_ROUNDS=$${PERSEID_CHAOS_ROUNDS:-20} \
		$(PYTEST) --timeout 0 tests/chaos $(ARGS)

scale: $(DEV) $(COMPILED) ## a crawl of many pages, with its memory and pace
	$(BIN)/python benchmarks/scale.py $(ARGS)

bench: $(DEV) $(COMPILED) ## all benchmarks
	@failed=; for file in benchmarks/*.py; do \
		case $$file in */scale.py|*/train_*) continue;; esac; \
		echo "== $$file"; $(BIN)/python $$file || failed="$$failed $$file"; \
	done; \
	test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

clean: ## remove what was built; keeps ./out
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

# The first Python that is new enough and able to make a virtual environment.
$(VENV)/pyvenv.cfg:
	@found=; \
	for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
		if command -v $$python >/dev/null 2>&1 && \
			$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	test -n "$$found" || { echo "Perseid needs Python 3.11 or newer; install it, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }; \
	$$found -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "$$found cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	echo "making $(VENV) with $$($$found --version)"; \
	$$found -m venv $(VENV)

$(CORE): $(VENV)/pyvenv.cfg pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(SERVER): $(CORE) pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[server]'
	@touch $@

# By uv, which takes a tenth of pip's time for so many packages; by pip where only that knows the index.
$(DEV): $(VENV)/pyvenv.cfg pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --editable '.[server]' --group dev || { \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1' && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[server]' --group dev; }
	@touch $(CORE) $(SERVER) $@

# Where PYTHONDONTWRITEBYTECODE is set, each start would compile all of an editable package anew. The folders stand for
# files that were added or removed.
$(COMPILED): $(VENV)/pyvenv.cfg $(shell find src/perseid -name __pycache__ -prune -o \( -type d -o -name '*.py' \) -print)
	@$(BIN)/python -m compileall -q src/perseid
	@touch $@
