# `make demo` and `make test` are all that a fresh clone needs: each makes .venv, or the stage of it that it uses, from the
# pins in constraints.txt.

VENV := .venv
RUN := $(VENV)/bin/python
STAGE := @PYTHONUNBUFFERED=1 .ci/stage
# Byte code is written when a module is first imported, which few of them are. Nothing is built in isolation, so that
# what builds is pinned too. Compressing Spark's half gigabyte of compressed files again would take half a minute.
PIP_OPTIONS := --disable-pip-version-check --no-input -c constraints.txt --no-build-isolation --use-pep517 \
	--config-settings=--build-option=--compression=stored
INSTALL := $(RUN) -m pip install $(PIP_OPTIONS) --no-compile

# The first Python from 3.11 on that can make an environment; `make PYTHON=... test` chooses another.
CAN_BUILD := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python3.14 python; do \
	$$python -c '$(CAN_BUILD)' 2>/dev/null && echo $$python && break; done)

# A folder of data sets beside the checkout, if there is one.
ifneq ($(wildcard ../shared/data/.),)
export LIKEWISE_DATA ?= $(abspath ../shared/data)
endif

unexport PYTHONDONTWRITEBYTECODE # the checks start hundreds of processes, each of which would compile all it imports

.PHONY: demo test lint types tests test-long fuzz docs build bench paper clean
.DEFAULT_GOAL := test
ifeq ($(MAKELEVEL),0)
.NOTPARALLEL:
endif

demo: $(VENV)/installed-demo  ## audit a model of Adult, look at one pair, and try the remedies on the same people
	$(RUN) examples/demo.py

test: lint  ## everything that is checked before a change lands; types are checked beside the tests
	@$(MAKE) --no-print-directory --jobs=2 types tests

lint: $(VENV)/installed  ## ruff: faults, style and format
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check

types: $(VENV)/installed  ## mypy, strict
	$(RUN) -m mypy

tests: $(VENV)/installed  ## tests and doctests, warnings as errors
	$(RUN) -m pytest -n 3 --no-loadscope-reorder  # a third process has work while others wait for Spark and the browser

test-long: $(VENV)/installed  ## the same tests, random draws and campaigns in their full size: half an hour, before a release
	LIKEWISE_TESTS=long $(RUN) -m pytest -n 3 --no-loadscope-reorder -m 'not network'

fuzz: $(VENV)/installed  ## each reader of files gets sound content with faults, CASES (10000) times; READERS="tables or plans" for some
	FUZZ_CASES=$(or $(CASES),10000) nice -n 19 $(RUN) -m pytest -n 3 tests/hostile/test_fuzzing.py $(if $(READERS),-k "$(READERS)")

docs: $(VENV)/installed-docs  ## the site, in docs/_build/html: every example is run, warnings are errors, links inside are checked
	$(RUN) -m sphinx -q -W --keep-going -j 2 -b html docs docs/_build/html
	$(RUN) docs/_extensions/links.py docs/_build/html

build: $(VENV)/made  ## wheel, source distribution and a bill of materials (CycloneDX) of what the wheel installs, in dist
	$(STAGE) "Installing what publishes" $(INSTALL) build cyclonedx-bom readme-renderer[md] twine
	rm -rf dist && $(RUN) -m build --no-isolation --outdir dist
	$(RUN) -m twine check --strict dist/*
	$(STAGE) "Installing the wheel into an environment of its own" sh -c '$(PYTHON) -m venv --clear $(VENV)/wheel && \
		$(VENV)/wheel/bin/python -m pip install --disable-pip-version-check --no-compile dist/*.whl'
	$(RUN) -m cyclonedx_py environment $(VENV)/wheel/bin/python --output-file dist/likewise.cdx.json

bench: $(VENV)/installed  ## time and memory of mining, auditing and training, and simulations; what is not stored yet takes hours
	@for question in mining auditing scale consistency training generation conclusions repair; do \
		$(RUN) benchmarks/$$question.py || exit 1; done

paper: $(VENV)/installed  ## every table and figure of the paper: runs what is missing (JOBS=, DEVICE=), then writes paper/RESULTS.md
	$(RUN) -m paper run --jobs $(or $(JOBS),1) --device $(or $(DEVICE),auto) || test $$? -eq 1  # cells that failed are in the report
	$(RUN) -m paper report

clean:  ## remove what make and the tools made
	rm -rf docs/_build docs/gallery docs/tutorial docs/api/generated docs/sg_execution_times.rst
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
	find src tests examples benchmarks paper -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stage is made again when pins or dependencies change, so that what is installed is what is pinned.
$(VENV)/made: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "No Python from 3.11 on that has venv was found; name one: make PYTHON=/where/it/is" >&2; exit 1; }
	$(STAGE) "Making an environment in $(VENV)" $(PYTHON) -m venv --clear $(VENV)
	$(STAGE) "Installing what builds packages" $(RUN) -m pip install $(PIP_OPTIONS) editables hatchling setuptools wheel
	@touch $@

$(VENV)/installed-demo: $(VENV)/made
	$(STAGE) "Installing likewise with pandas, torch and XGBoost" $(INSTALL) -e '.[pandas,torch]' xgboost-cpu
	@touch $@

# Spark's package comes as source: fetched and built while the packages of the demo are installed.
$(VENV)/spark: $(VENV)/made
	$(STAGE) "Building Spark's package" $(RUN) -m pip wheel $(PIP_OPTIONS) --no-deps -w $@.part pyspark
	@mv $@.part $@

$(VENV)/installed: $(VENV)/made
	@$(MAKE) --silent --jobs=2 $(VENV)/installed-demo $(VENV)/spark
	$(STAGE) "Installing everything else that the checks need" $(INSTALL) --find-links $(VENV)/spark -e '.[dev]'
	@rm $(VENV)/spark/*.whl
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(STAGE) "Installing what builds the site" $(INSTALL) -e '.[dev,docs]'
	@touch $@
