# A fresh machine needs Python 3.11 or newer and make. `make` alone lists the targets.

PYTHON ?= python3
BIN := .venv/bin
PYTEST_ARGS ?=
CLIENTS ?=
PIP := $(BIN)/python -m pip install -qq --no-compile --require-hashes --only-binary :all:
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python

# uv without its configuration files, so that the lock is all there is to say, and with the
# certificates of the system.
export UV_NO_CONFIG := 1
export UV_SYSTEM_CERTS := 1
# Nothing is compiled to bytecode at install; what is used is compiled when first imported.
unexport PYTHONDONTWRITEBYTECODE
# No look at the network for a newer pyright.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-all format docs clients notebook pictures data lock clean .venv

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 10

demo: .venv ## train a lending policy on loan records with imputed groups, defaults and FICO; write a report (minutes)
	$(BIN)/fairgym demo

test: MARKED := -m "not full"
# Types of the tests are checked in `make test-all` only.
test: TYPED := src benchmarks examples tools
# Arguments are held against their annotations in `make test-all` only: an eighth of the time.
test: export CHECK_TYPES := 0
test: .venv ## lint, format check, types, and the tests that touch every part
test-all: .venv ## the same with all tests (nightly, and before a release)
test test-all:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell src docs benchmarks examples tools *.md *.cff *.toml Makefile
# The types are checked on one core, beside the tests.
	$(BIN)/pyright $(TYPED) & types=$$!; \
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder $(MARKED) \
		$(PYTEST_ARGS); tests=$$?; \
	wait $$types || { echo "pyright found errors: see above"; exit 1; }; exit $$tests

format: .venv ## format the code and mend what the linter can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: .venv ## build the site into site/
	@$(BIN)/python tools/cards.py build/cards
	@$(BIN)/python tools/api.py build/api
	@$(BIN)/python tools/notebook.py markdown docs/tutorials build/tutorials
	$(BIN)/zensical build --clean --strict
	@$(BIN)/python tools/example_pages.py site/examples

clients: ## run the learners of other libraries, each in its own environment (CLIENTS="torchrl rejax": some)
	@$(PYTHON) tools/clients.py $(CLIENTS)

notebook: .venv ## run the tutorials' cells and store their outputs
	$(BIN)/python tools/notebook.py run docs/tutorials

pictures: .venv ## make the pictures of the docs that are stale (from nothing: half an hour)
	$(BIN)/python tools/pictures.py

data: .venv ## rebuild the built-in data files
	$(BIN)/python tools/build_data.py

lock: .venv ## compile requirements.lock anew from pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --output-file requirements.lock --quiet \
		--universal --python-version 3.11 --generate-hashes \
		--extra audit --extra data --extra importers --extra plot --extra interop --extra ray \
		--extra docs --extra dev \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

clean: ## remove the environment, caches and everything built; runs stay
	rm -rf .venv .cache .jax-cache .hypothesis .pytest_cache .ruff_cache build dist site
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

.venv: .venv/stamp

# pip, which every Python brings, installs uv; uv installs the rest in a fraction of pip's time.
# Should uv not get through (a mirror configured for pip alone), pip does it all.
.venv/stamp: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "fairgym needs Python 3.11 or newer, and '$(PYTHON)' is not that." >&2; \
		echo "Name one that is: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@echo "Setting up .venv (once; about half a minute)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@sed -n '/^uv==/,/# via/p' requirements.lock > .venv/uv.txt
	@$(PIP) -r .venv/uv.txt
	@$(UV) --require-hashes --no-build -r requirements.lock || { \
		echo "uv did not get through; pip takes over, which is slower"; $(PIP) -r requirements.lock; }
	@$(UV) --offline --no-deps --no-build-isolation --editable .
	@touch $@
