# The short names of everything. `make sim` and `make test` each work alone on a fresh clone.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUILD  := build
BOARD  ?= icebreaker
# Those of the live page: few, common or all.
DESIGNS ?= common
PORT ?= 8000
PYTEST := $(BIN)/pytest -n auto --dist loadgroup -q
# With a data sheet beside the Verilog.
GENERATE := $(BIN)/utf8-hdl generate --data-sheet
# Those that test-all runs.
MARKS ?= long or not long
# Measured over lanes, each with a target of its own.
SYNTH_LANES := $(addprefix synth-,decoder validator compactor transcoder)
# The tables of docs/choose.md.
CHOICES := $(addprefix choose-,bytes out rules)

# Measured on devices of other families; with eight lanes too, where that can be.
SYNTH_FAMILIES := $(addprefix synth-,gowin nexus machxo2 gatemate)
SYNTH_WIDER := $(addsuffix -lanes,$(addprefix synth-,gowin nexus machxo2))
# The transcoders to UTF-8, with eight lanes.
SYNTH_TO_UTF8 := $(addprefix synth-,repair utf16-to-utf8)

.PHONY: help sim test test-all compare hostile bench bench-cluster bench-transcoding verilog diagram figures \
        prove prove-record prove-lanes prove-status prove-model prove-check mutate synth synth-tables \
        synth-lanes $(SYNTH_LANES) synth-families $(SYNTH_FAMILIES) $(SYNTH_WIDER) $(SYNTH_TO_UTF8) \
        choose $(CHOICES) \
        bitstream site live lint format release clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

sim: $(VENV)/base ## Decode the sample texts in simulated hardware, next to the golden model
	$(BIN)/utf8-hdl simulate --compact --text 'A © ≠ 😀'
	$(BIN)/utf8-hdl simulate examples/scripts.txt
	$(BIN)/utf8-hdl simulate examples/stress.txt

test: $(VENV)/dev ## Run the tests, without the long ones
	$(PYTEST)

test-all: $(VENV)/dev ## Run all tests, the long ones too
	$(PYTEST) -m "$(MARKS)"

compare: $(VENV)/base ## Compare hardware and golden model on the built-in campaign
	$(BIN)/utf8-hdl compare
	$(BIN)/utf8-hdl compare --compact
	$(BIN)/utf8-hdl compare --component encoder
	$(BIN)/utf8-hdl compare --component encoder --compact
	$(BIN)/utf8-hdl compare --lanes 8
	$(BIN)/utf8-hdl compare --component validator --lanes 8
	$(BIN)/utf8-hdl compare --component compactor --lanes 8
	$(BIN)/utf8-hdl compare --component transcoder --lanes 8

hostile: $(VENV)/base ## Compare on ten billion cycles of random hostile stimuli each: hours, which may be interrupted
	@mkdir -p $(BUILD)
	$(call run_hostile,decoder,--cycles 10000000000)
	$(call run_hostile,compact,--cycles 10000000000 --compact)
	$(call run_hostile,encoder,--cycles 10000000000 --component encoder)
	$(call run_hostile,lanes,--cycles 800000000 --lanes 8 --engine verilator)
	$(call run_hostile,transcoder,--cycles 750000000 --component transcoder --engine verilator)

# The name of a run, whose state file lets it resume, and its options.
define run_hostile
$(BIN)/utf8-hdl compare $(2) --state $(BUILD)/hostile-$(1).json
endef

bench: $(VENV)/dev ## Measure speed: engines, comparisons, commands, memory; transcoding in software
	$(BIN)/python tests/bench/bench.py
	$(BIN)/python tests/bench/transcoding.py

bench-transcoding: $(VENV)/dev ## Measure transcoding in software beside ours, into docs/benchmark.md
	@mkdir -p $(BUILD)
	$(BIN)/python tests/bench/transcoding.py $(addprefix --software ,$(SOFTWARE)) \
	    --json docs/transcoding.json --plot docs/transcoding.svg > $(BUILD)/bench-transcoding.txt
	$(call fill,bench-transcoding,benchmark)

bench-cluster: $(VENV)/dev ## Measure work on a Dask cluster of this machine, into docs/cluster.md
	@mkdir -p $(BUILD)
	PYTHONPATH=tests/support $(BIN)/python tests/bench/cluster.py > $(BUILD)/bench-cluster.txt
	$(call fill,bench-cluster,cluster)

verilog: $(VENV)/base ## Write the files of verilog/ again, with their data sheets
	$(GENERATE) -o verilog/utf8_decoder.v
	$(GENERATE) --compact -o verilog/utf8_compact_decoder.v
	$(GENERATE) --lanes 8 -o verilog/utf8_decoder_8.v
	$(GENERATE) --component encoder -o verilog/utf8_encoder.v
	$(GENERATE) --component validator --lanes 8 -o verilog/utf8_validator_8.v
	$(GENERATE) --component validator --lanes 64 -o verilog/utf8_validator_64.v
	$(GENERATE) --component transcoder --lanes 8 -o verilog/utf8_transcoder_8.v
	$(GENERATE) --component transcoder --lanes 64 -o verilog/utf8_transcoder_64.v
	$(GENERATE) --component transcoder --to utf-8 --lanes 8 --module utf8_repair_8 \
	    -o verilog/utf8_repair_8.v
	$(GENERATE) --component transcoder --from utf-16 --to utf-8 --lanes 8 \
	    --module utf16_to_utf8_8 -o verilog/utf16_to_utf8_8.v

diagram: $(VENV)/wave ## Draw the timing diagrams of docs/ from simulations
	printf '\342\202A\360\237\230\200' | $(BIN)/utf8-hdl simulate --compact - \
	    --stall-output-cycles 4 --wave docs/decoder.svg --wave-cycles 0-11
	$(BIN)/utf8-hdl simulate --text ABCDEFGHIJKL --stall-output-cycles 10,11 \
	    --wave docs/figures/timing-stall.svg --wave-cycles 7-17
	$(BIN)/utf8-hdl simulate --compact --hex 'E2 82 / 41' \
	    --wave docs/figures/timing-end-of-text.svg --wave-cycles 0-6
	$(BIN)/utf8-hdl simulate --component encoder --compact --text '€A' \
	    --wave docs/figures/timing-encoder.svg --wave-cycles 0-7
	$(BIN)/utf8-hdl simulate --lanes 2 --hex '41 C3 A9 / 42' \
	    --wave docs/figures/timing-lanes.svg --wave-cycles 0-12

figures: diagram $(VENV)/fpga ## Draw all figures of docs/ again: from simulations, verilog/ and kept measurements
	$(BIN)/python site/block_diagrams.py docs/figures
	$(BIN)/python -m utf8_flow.fpga.chart docs/synthesis*.json
	$(BIN)/python tests/bench/transcoding.py --software docs/transcoding.json \
	    --plot docs/transcoding.svg

prove: $(VENV)/formal ## Prove each component in all profiles, lanes: 8; each pair of encodings in unicode, lanes: 4
	$(BIN)/utf8-hdl prove

# An interrupted run resumes: results in docs/proofs.json for the present code are skipped.
PROVE_MISSING = $(BIN)/utf8-hdl prove --json docs/proofs.json --missing --timeout $(PROVE_LIMIT)
PROVE_LIMIT  := 900

prove-record: $(VENV)/formal ## Do what make prove does and docs/proofs.json lacks; then make prove-status
	-$(PROVE_MISSING)
	$(MAKE) prove-status

prove-lanes: $(VENV)/formal ## The same for 8 and 64 lanes in unicode, PROVE_LIMIT=900 seconds each
	-$(PROVE_MISSING) --profile unicode --lanes 8
	-$(PROVE_MISSING) --profile unicode --lanes 64
	$(MAKE) prove-status

prove-status: $(VENV)/base ## Fill docs/proofs.md and docs/properties.md from docs/proofs.json
	@mkdir -p $(BUILD)
	$(PROOF_TABLE) claims > $(BUILD)/prove-claims.txt
	$(call fill,prove-claims,proofs)
	$(PROOF_TABLE) wide > $(BUILD)/prove-wide.txt
	$(call fill,prove-wide,proofs)
	$(PROOF_TABLE) properties > $(BUILD)/prove-properties.txt
	$(call fill,prove-properties,properties)
	$(BIN)/utf8-hdl prove --status --json docs/proofs.json > $(BUILD)/prove-status.txt
	$(call fill,prove-status,properties)
	$(BIN)/utf8-hdl prove --theorem --json docs/proofs.json > $(BUILD)/prove-theorem.txt
	$(call fill,prove-theorem,properties)

PROOF_TABLE := $(BIN)/python -m utf8_flow.verify.proof_pages

prove-model: $(VENV)/formal ## Hold the golden model against the specification of the proofs
	$(BIN)/python -m utf8_flow.formal.golden

prove-check: $(VENV)/formal ## Certify decoder and encoder in unicode, in build/certificates, and check that
	@mkdir -p $(BUILD)
	rm -rf $(BUILD)/certificates
	$(CERTIFY) --component decoder
	$(CERTIFY) --component decoder --compact
	$(CERTIFY) --component encoder
	$(CERTIFY) --component encoder --compact
	$(BIN)/utf8-hdl check $(BUILD)/certificates

CERTIFY := $(BIN)/utf8-hdl prove --profile unicode --certificates $(BUILD)/certificates

mutate: $(VENV)/formal ## Mutation test: inject faults and count how many the checks detect
	$(BIN)/utf8-hdl mutate

synth: $(VENV)/fpga ## Measure area and clock frequency on two devices, into docs/synthesis.*
	$(call measure,synthesis,)

synth-lanes: $(SYNTH_LANES) ## Every number of lanes, for synth-decoder, -validator, -compactor, -transcoder

$(SYNTH_LANES): synth-%: $(VENV)/fpga
	$(call measure,synthesis-$*,--component $* $(VALUES) --lanes all $(MEASURED))

$(SYNTH_LANES): VALUES := --profile unicode
synth-compactor: VALUES := --width 16

MEASURED := --device ecp5-85f --seeds 3

synth-families: $(SYNTH_FAMILIES) $(SYNTH_WIDER) $(SYNTH_TO_UTF8) ## Other families: or one of synth-gowin, -nexus, -machxo2, -gatemate

$(SYNTH_FAMILIES): synth-%: $(VENV)/fpga
	$(call measure,synthesis-$*,--profile unicode --seeds 3 --device $(CHIPS))

$(SYNTH_WIDER): synth-%-lanes: $(VENV)/fpga
	$(call measure,synthesis-$*-lanes,$(EIGHT_LANES) --device $(CHIPS))

$(SYNTH_TO_UTF8): synth-%: $(VENV)/fpga
	$(call measure,synthesis-$*,--component transcoder --to utf-8 $(FROM) $(EIGHT_LANES) --device $(CHIPS))

EIGHT_LANES := --lanes 8 --profile unicode --seeds 3

synth-utf16-to-utf8: FROM := --from utf-16
$(SYNTH_TO_UTF8): CHIPS := ecp5-85f,lifcl-40
synth-gowin: CHIPS := gw1nr-9,gw2a-18
synth-gowin-lanes: CHIPS := gw2a-18
synth-nexus synth-nexus-lanes: CHIPS := lifcl-40
synth-machxo2: CHIPS := machxo2-1200,machxo3lf-6900
synth-machxo2-lanes: CHIPS := machxo3lf-6900
synth-gatemate: CHIPS := ccgm1a1 --seed 3

choose: $(CHOICES) ## Fill the tables of docs/choose.md from what was measured

$(CHOICES): choose-%: $(VENV)/base
	@mkdir -p $(BUILD)
	$(SYNTH_TABLE) $* > $(BUILD)/$@.txt
	$(call fill,$@,choose)

# Measure: the name of the files, and options. Then the tables of the pages are filled again.
define measure
$(BIN)/utf8-hdl synthesize $(2) --json docs/$(1).json --csv docs/$(1).csv --plot docs/$(1).svg
$(MAKE) synth-tables
endef

synth-tables: $(VENV)/base ## Fill the tables of docs/synthesis.md and docs/measurement.md from docs/synthesis*.json
	@mkdir -p $(BUILD)
	$(SYNTH_TABLE) summary > $(BUILD)/synth-summary.txt
	$(call fill,synth-summary,synthesis)
	$(SYNTH_TABLE) devices > $(BUILD)/synth-devices.txt
	$(call fill,synth-devices,synthesis)
	$(SYNTH_TABLE) tools > $(BUILD)/synth-tools.txt
	$(call fill,synth-tools,measurement)

SYNTH_TABLE := $(BIN)/python -m utf8_flow.fpga.result_tables

# Fill: the mark in a page, whose text is in a file of that name; and the page.
define fill
sed -e '/<!-- from make $(1) -->/,/<!-- end/{//!d;}' \
    -e '/<!-- from make $(1) -->/r $(BUILD)/$(1).txt' docs/$(2).md > $(BUILD)/$(2).md
mv $(BUILD)/$(2).md docs/$(2).md
endef

bitstream: $(VENV)/fpga ## Build the demo for a board into build/: BOARD=icebreaker, ulx3s, tangnano9k or tangnano20k
	@mkdir -p $(BUILD)
	cd $(BUILD) && $(CURDIR)/$(BIN)/utf8-hdl bitstream --board $(BOARD)

site: $(VENV)/live ## Build the documentation, with the live page, into build/site: DESIGNS=few, common or all
	$(BIN)/sphinx-build --quiet --fail-on-warning -c site -d $(BUILD)/doctrees . $(BUILD)/site
	$(BIN)/python -m utf8_flow.live.build --designs $(DESIGNS) $(BUILD)/site/live

live: site ## Build and serve it to this machine: PORT=8000
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory $(BUILD)/site

lint: $(VENV)/dev ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/dev ## Fix style automatically
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Python interpreters in which the packages are tried.
PYTHONS ?= $(PYTHON)

release: $(VENV)/dev ## Build what would be published, into dist/, and check it: PYTHONS="python3.10 python3.14"
	@test -z "$$(git status --porcelain)" || \
	    { echo "make release: commit or remove what git status lists" >&2; exit 2; }
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tests/support/packages.py dist $(PYTHONS)

clean: ## Remove everything that make made
	rm -rf $(VENV) $(BUILD) dist .pytest_cache .ruff_cache .mypy_cache .hypothesis

# One environment; extras of pyproject.toml add their tools to what `base` has, numba among it.
comma := ,
$(VENV)/base $(VENV)/dev $(VENV)/formal $(VENV)/fpga $(VENV)/live $(VENV)/wave: $(VENV)/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --editable '.[fast$(if $(filter-out base,$*),$(comma)$*)]'
	@touch $@
