# One command does what CI does. Everything runs inside .venv; nothing else on the machine changes.
VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.stamp

.DEFAULT_GOAL := help
.PHONY: help setup demo test check lint fmt bench clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

setup: $(STAMP) ## make the environment (.venv); instant when it is up to date

$(STAMP): pyproject.toml tools/setup
	@tools/setup $(VENV)
	@touch $@

demo: setup ## what this machine can hold, then 200 pretend agents on a pretend 64 GB host
	$(BIN)/paddock capacity
	@echo
	$(BIN)/paddock simulate --ram 64G --runs 200 --workload mixed --seed 1

test: setup lint ## lint, types, imports and every test: what CI runs
	$(BIN)/pytest -n 2

check: setup lint ## the quick loop: format, lint, types, imports, unit and architecture tests
	$(BIN)/pytest -q tests/unit tests/architecture

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: setup ## format, and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## run every benchmark in bench/
	@for script in bench/bench_*.py; do \
	  [ -e "$$script" ] || { echo "no benchmarks yet"; break; }; \
	  echo "== $$script"; $(BIN)/python "$$script" || exit 1; \
	done

clean: ## remove the environment and all caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
