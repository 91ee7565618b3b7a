# One command does what CI does. Everything runs inside .venv; nothing else on the machine changes.
VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.stamp

.DEFAULT_GOAL := help
ROUNDS := 200
SEED := 1
BESIDE := 1
# What a guest for tests/vm needs (docs/develop/guest.md); its kernel is fetched by the first boot.
GUEST := qemu-system-x86_64:qemu-system-x86 setpriv:util-linux /lib/systemd/systemd:systemd \
         dbus-daemon:dbus :dbus-user-session :libpam-systemd
# What containers are tried with. crun is not among them: podman would prefer it, and on a host with cgroup v1 and
# v2 side by side it refuses to start anything.
ENGINES := podman:podman runc:runc dockerd:docker.io containerd:containerd busybox:busybox-static
RACERS := parallel:parallel tsp:task-spooler
SITE := .venv-docs
PROMETHEUS := prometheus:prometheus promtool:prometheus
.PHONY: help setup demo docs test test-agents test-vm fresh chaos hunt image lock audit check lint fmt bench race clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' Makefile

setup: $(STAMP) ## make the environment (.venv); instant when it is up to date

$(STAMP): pyproject.toml packaging/locks/dev.txt tools/setup
	@tools/setup $(VENV)
	@touch $@

demo: setup ## a real fleet of small agents that shows every way a run can go: half a minute
	@tools/demo

# A test that fails is tried twice more, later, and is named in the summary: a race that a busy machine shows
# must be mended, but it does not turn a good change away. What fails three times fails.
AGAIN := --reruns 2 --reruns-delay 5

test: setup lint ## lint, types, imports and every test: what CI runs
	@tools/needs cc:gcc curl:curl node:nodejs zsh:zsh fish:fish tmux:tmux chromium:chromium $(PROMETHEUS) $(ENGINES) $(GUEST)
	@$(BIN)/python hatch_build.py
	$(BIN)/pytest -n 3 --dist worksteal --durations 15 --durations-min 20 $(AGAIN)

WHICH := not long
test-agents: setup ## the real agent programs, pinned in tests/agents, against a stand-in for their models
	@tools/needs node:nodejs npm:npm git:git
	@tools/agents
	@$(BIN)/python hatch_build.py
	PADDOCK_AGENTS=$(CURDIR)/.agents/bin $(BIN)/pytest -n 2 --durations 5 $(AGAIN) -m '$(WHICH)' tests/agents

test-vm: setup ## only the tests that need cgroup v2 or systemd, in a guest where this machine has neither
	@tools/needs $(GUEST)
	$(BIN)/pytest -s tests/vm tests/guest

fresh: ## make demo and what CI runs, of the last commit, in a root made from Debian's packages alone
	@tools/fresh

chaos: setup ## 200 rounds of random fleets with faults of every kind (ROUNDS=, SEED=, ONLY=, BESIDE=, REPORT= to change)
	@tools/needs unshare:util-linux git:git
	@$(BIN)/python hatch_build.py
	$(BIN)/python -m tests.chaos --rounds $(ROUNDS) --seed $(SEED) --beside $(BESIDE) $(ONLY:%=--only %) $(if $(REPORT),--report $(REPORT) --json bench/results/chaos.json)

hunt: setup ## properties, any bytes and the API's document, for an hour, with examples that nobody has tried yet
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -n 2 tests/properties tests/fuzz tests/api/test_schemathesis.py --timeout 3600

image: setup ## build the image of the controllers and try it (tools/image says by what it is told how)
	@tools/image

lock: ## pin what paddock runs on, with hashes, in packaging/locks (after a range in pyproject.toml changed)
	@tools/lock

audit: ## are there known vulnerabilities in what the locks pin? (needs the index; says what it could not check)
	@tools/audit

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

TIMES := 1
bench: setup ## every benchmark in bench/, held against the last release; then bench/RESULTS.md
	@tools/needs chromium:chromium tmux:tmux s6-log:s6 multilog:daemontools svlogd:runit node:nodejs npm:npm git:git $(RACERS) $(GUEST)
	@tools/agents
	@$(BIN)/python hatch_build.py
	@$(BIN)/python bench/every.py --rounds $(TIMES) $(ONLY)

docs: ## the documents as a site, in site/ (an environment of its own, so that none else grows)
	@[ -e $(SITE)/bin/mkdocs ] || { python3 -m venv $(SITE) && $(SITE)/bin/pip install --quiet --only-binary :all: 'mkdocs-material>=9.6,<10'; }
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict --quiet
	@echo 'docs: site/index.html'

race: setup ## paddock beside xargs, parallel, task-spooler and the static formula: sixty agents in 8 GiB, ten minutes
	@tools/needs $(RACERS)
	@$(BIN)/python hatch_build.py
	$(BIN)/python bench/peers

clean: ## remove the environment and all caches
	rm -rf $(VENV) $(SITE) .venv-tools site .agents .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
