# Airlock. Each target prepares all that it needs, once; afterwards that costs nothing.
# ARGS is handed to the program (`make run ARGS="scheduler --help"`); PYTHON names a Python to use.
ARGS ?=
PYTEST_ARGS ?=
PYTHON ?=

BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(BIN)/python
SETUP = PYTHON='$(PYTHON)' sh resources/setup/setup.sh

# The headless programs do not load Qt and must not ask for its libraries.
HEADLESS = $(filter scheduler agent --help -h,$(ARGS))

.PHONY: help run test check bench faults facility screenshots pins clean
.DEFAULT_GOAL := help

help:
	@echo "make run          the control room (ARGS=\"scheduler\", \"snapshot out.png\", \"--help\" for the rest)"
	@echo "make test         the tests (PYTEST_ARGS=\"-k leadership\" for some of them)"
	@echo "make check        lint, format, types and import rules"
	@echo "make bench        measurements, against other schedulers too"
	@echo "make faults       long fault injection"
	@echo "make facility     several hosts, TLS and a promoted standby, in network namespaces (root, Debian)"
	@echo "make screenshots  pictures of every panel"
	@echo "make pins         renew the pinned packages (for maintainers)"
	@echo "make clean        remove .venv and all caches"

# Nothing here may need a screen.
test bench faults facility screenshots: export QT_QPA_PLATFORM = offscreen
export HYPOTHESIS_STORAGE_DIRECTORY = .cache/hypothesis

run:
	@$(SETUP) run --libraries $(if $(HEADLESS),none,screen)
	@$(PY) main.py $(ARGS)

test:
	@$(SETUP) test --libraries offscreen
	$(PY) -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

check:
	@$(SETUP) test --libraries none
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(BIN)/lint-imports --cache-dir .cache/import-linter

bench:
	@$(SETUP) bench --libraries offscreen
	$(PY) -m tests.bench $(ARGS)

faults:
	@$(SETUP) test --libraries offscreen
	$(PY) -m tests.faults $(ARGS)

facility:
	@$(SETUP) test --libraries offscreen
	$(PY) -m tests.facility $(ARGS)

screenshots:
	@$(SETUP) test --libraries offscreen
	$(PY) -m tests.screenshots $(ARGS)

pins:
	@$(SETUP) run --libraries none
	@$(PY) resources/setup/pins.py

clean:
	rm -rf .venv .cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
