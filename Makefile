# `make demo` and `make test` are all a fresh clone needs: each makes .venv by itself, from the pinned constraints.

VENV := .venv
RUN := $(VENV)/bin/python

# The first Python from 3.11 on that can make an environment; `make PYTHON=... test` chooses another.
CAN_BUILD := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python3.14 python; do \
	$$python -c '$(CAN_BUILD)' 2>/dev/null && echo $$python && break; done)

# A folder of data sets beside the checkout, if there is one.
ifneq ($(wildcard ../shared/data/.),)
export LIKEWISE_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test lint types tests test-long docs bench paper clean
.DEFAULT_GOAL := test
.NOTPARALLEL:

demo: $(VENV)/installed  ## audit a model of Adult, train it again with antidotes, and audit it again
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
	LIKEWISE_TESTS=long $(RUN) -m pytest -n 3 --no-loadscope-reorder

docs: $(VENV)/installed-docs  ## the site, in docs/_build/html: every example is run, warnings are errors, links inside are checked
	$(RUN) -m sphinx -q -W --keep-going -b html docs docs/_build/html
	$(RUN) docs/_extensions/links.py docs/_build/html

bench: $(VENV)/installed  ## time and memory of mining, auditing and training against what else one could use; the long sizes take hours
	$(RUN) benchmarks/mining.py
	$(RUN) benchmarks/auditing.py $(if $(RIVALS),--rivals $(RIVALS))
	$(RUN) benchmarks/exploring.py
	$(RUN) benchmarks/scale.py
	$(RUN) benchmarks/training.py $(if $(RIVALS),--rivals $(RIVALS))
	$(RUN) benchmarks/baselines.py $(if $(RIVALS),--rivals $(RIVALS))

paper: $(VENV)/installed  ## every table and figure of the paper: runs what is missing (JOBS=, DEVICE=), then writes paper/RESULTS.md
	$(RUN) -m paper run --jobs $(or $(JOBS),1) --device $(or $(DEVICE),auto) || test $$? -eq 1  # cells that failed are in the report
	$(RUN) -m paper report

clean:  ## remove what make and the tools made
	rm -rf docs/_build docs/gallery docs/api/generated docs/sg_execution_times.rst
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
	find src tests examples benchmarks paper -name __pycache__ -type d -prune -exec rm -rf {} +

# Made anew when pins or dependencies change, so that what is installed is what is pinned. The build backend comes
# from the pins too, hence the first install and no isolated build.
$(VENV)/installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "No Python from 3.11 on that has venv was found; name one: make PYTHON=/where/it/is" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev,docs]'
	@touch $@
