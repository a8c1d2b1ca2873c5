# All targets run from a clean clone. Tools are installed under target/.

FUZZ_SECONDS ?= 60
ARGS ?=
TARGET ?=
# Of `make versus`: the commit to compare with.
REF ?=
# Of `make scaling`: a part of it, or "all".
PART ?= all
# "all": test the Python package with every framework.
FRAMEWORKS ?=
export FRAMEWORKS

.DEFAULT_GOAL := help
.PHONY: help demo test check test-peers wheels packages fuzz faults bench instructions asan miri versus scaling scaling-folder bench-peers fmt docs doc testdata clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Generate sample files, read them shuffled, print statistics and one example (ARGS="--records N")
	cargo run --release --locked -p atds-cli -- demo $(ARGS)

test: ## Test the crates and the Python package (FRAMEWORKS=all: with PyTorch, TensorFlow, DuckDB)
	@scripts/test.sh

check: ## All other gates: format, lints, documentation, packages, licences, test data, a short fuzz run
	@scripts/check.sh

test-peers: ## Compare the Python package with tensorflow-io, value by value (needs Python 3.11)
	@scripts/test_peers.sh

wheels: ## Build the wheel for release into target/wheels (TARGET=a Rust target)
	@scripts/wheels.sh $(TARGET)

packages: ## Package the crates into target/package, and build each alone
	@scripts/packages.sh

asan: ## Test the pipeline and its batches under AddressSanitizer (Linux)
	@scripts/asan.sh

miri: ## Test the owned rows of batches under Miri (needs a nightly toolchain with the component miri)
	PROPTEST_CASES=4 MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked -p tensor-batch

fuzz: ## Run each fuzz target for FUZZ_SECONDS=60 (ASAN=1: under AddressSanitizer)
	@scripts/fuzz.sh $(FUZZ_SECONDS)

faults: ## Inject faults, kill and resume, and check what becomes of the data (FRAMEWORKS=all; ARGS="--help", "--quick", "--fault")
	@scripts/faults.sh $(ARGS)

bench: ## Run the benchmarks (ARGS="-- NAME" for one)
	cargo bench --locked -p atds-benches $(ARGS)

instructions: ## Count the instructions of small fixed workloads (needs valgrind; ARGS="--write" replaces the record)
	@cargo run --release --locked -p atds-benches --bin instructions -- $(ARGS)

versus: ## Compare this command with that of another commit, REF=COMMIT, in paired runs (ARGS="--help")
	@PYTHONPATH=benches python3 -m versus "$(REF)" $(ARGS)

scaling: ## Measure how many cores the pipeline can use (PART=sleeping, on any machine; PART=cores, beside processes; ARGS="--help")
	@benches/scaling/scaling.sh "$(PART)" $(ARGS)

scaling-folder: ## Pack the part `cores` of `make scaling` into target/scaling, to run without a compiler
	@benches/scaling/scaling.sh folder

bench-peers: ## Compare with other readers of Avro, TFRecord and BTable (needs Python 3.11; ARGS="--help", "--quick" or "--write")
	@benches/peers/run.sh $(ARGS)

fmt: ## Format all Rust and Python code
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$$(scripts/venv.sh python/requirements/check.txt)/bin/ruff format .

docs: ## Build the documentation site into target/site; broken links and references are errors
	@scripts/docs.sh

doc: ## Build the Rust crates' reference into target/doc
	cargo doc --workspace --no-deps --locked

testdata: ## Generate testdata/ with the independent writers
	@scripts/python.sh scripts/make_testdata.py

clean: ## Remove all build outputs
	cargo clean
