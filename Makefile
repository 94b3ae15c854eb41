# The short names of everything. `make sim` and `make test` each work alone on a fresh clone.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUILD  := build

.PHONY: help sim test compare verilog lint format clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

sim: $(VENV)/base ## Decode the sample texts in simulated hardware, next to the golden model
	$(BIN)/utf8-hdl simulate --text 'A © ≠ 😀'
	$(BIN)/utf8-hdl simulate examples/scripts.txt
	$(BIN)/utf8-hdl simulate examples/stress.txt

test: $(VENV)/dev ## Run the whole suite
	$(BIN)/pytest -n auto -q

compare: $(VENV)/base ## Compare hardware and golden model on the built-in campaign
	$(BIN)/utf8-hdl compare

verilog: $(VENV)/base ## Write the decoder's Verilog to build/utf8_decoder.v
	@mkdir -p $(BUILD)
	$(BIN)/utf8-hdl generate -o $(BUILD)/utf8_decoder.v
	@echo $(BUILD)/utf8_decoder.v

lint: $(VENV)/dev ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/dev ## Mend style where a tool can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove everything that make made
	rm -rf $(VENV) $(BUILD) dist .pytest_cache .ruff_cache .mypy_cache .hypothesis

# One environment; `dev` adds the tools to what `base` has.
$(VENV)/base $(VENV)/dev: $(VENV)/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --editable $(if $(filter dev,$*),'.[dev]',.)
	@touch $@
