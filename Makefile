# Two commands do all set-up: `make demo` and `make test`.

CARGO          ?= cargo
FUZZ_SECONDS   ?= 5
ATTACK_SECONDS ?= 86400
PREFIX         ?= $(HOME)/.local
PROGRAM        ?= examples/listing1.ppl

.PHONY: help demo test web web-shots attack bench fidelity lab dist dist-test setup install clean

help:
	@echo "make demo     build what is missing, run the paper's listing 1 in a scratch directory"
	@echo "make test     everything: format, lints, documents, fuzz targets, all tests"
	@echo "make web      build the scripts of pages and of the studio anew (web/dist), after a change of web/src"
	@echo "make web-shots  pictures of docs/studio.md anew, made by the browser tests"
	@echo "make attack   the attacks alone, the random ones for ATTACK_SECONDS"
	@echo "make bench    speed against the raw system calls, as ratios"
	@echo "make fidelity how faithfully real commands are replayed; writes the table of docs/fidelity.md"
	@echo "make lab      cluster file systems on this machine (root): LAB=\"glusterfs cephfs moosefs\"; docs/evaluation.md"
	@echo "make dist     wheel, deb, tarball, recipes for containers and Spack, checksums: in dist/"
	@echo "make dist-test  install each package into an empty Debian and run a program there; as root"
	@echo "make setup    install what the tests need, as far as it is missing"
	@echo "make install  put parabench into PREFIX/bin (now $(PREFIX)/bin)"
	@echo "make clean    remove what was built"

demo:
	$(CARGO) build --profile demo --locked -p parabench
	$(CARGO) run --profile demo --locked --quiet -p parabench -- run $(PROGRAM)

# Most of what tests do is waiting for processes: four at once for each CPU.
test: export RUST_TEST_THREADS ?= $(shell echo $$((4 * $$(nproc))))
# One target directory, one feature set, one profile: dependencies are compiled once
# and checked once. The tests come last so that their result is the last thing seen.
test: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	.ci/fuzz $(FUZZ_SECONDS)
	.ci/packages
	$(CARGO) test --workspace --lib --bins --tests --locked --no-run
	.ci/web
	.ci/editors
	.ci/python
	$(CARGO) test --workspace --doc --locked
	$(CARGO) test --workspace --lib --bins --tests --locked

web:
	npm --prefix web ci --silent --no-audit --no-fund
	npm --prefix web run --silent build

web-shots:
	$(CARGO) build -p parabench --locked
	npm --prefix web test -- --config playwright.shots.ts

# A random attack that gets through prints its PARABENCH_ATTACK_SEED=N, which repeats it.
attack: export PARABENCH_ATTACK_SECONDS = $(ATTACK_SECONDS)
attack:
	$(CARGO) test -p parabench --test attacks --locked -- --nocapture --test-threads 8

bench:
	$(CARGO) run --profile dist --locked --quiet -p benches

# Brings the commands that it measures, as far as they can be had; run it on an idle machine.
fidelity:
	$(CARGO) build --release --locked -p parabench
	python3 benches/fidelity/measure.py target/release/parabench

# PEERS=target/peers (lab/peers SOURCE) also compares with IOR and mdtest, in docs/agreement.md.
# Starts servers, measures, kills one, ends them all; results in lab/results. As root, about a quarter of an hour.
LAB ?= glusterfs cephfs moosefs
lab:
	$(CARGO) build --release --locked -p parabench
	lab/measure $(LAB)
	lab/evaluate
	[ -z "$(PEERS)" ] || { place=$$(lab/up $(firstword $(LAB))) && \
		lab/agree --write $(PEERS)/bin "$$place/agree"; code=$$?; lab/down; exit $$code; }

# What releases consist of (RELEASING.md).
dist:
	packaging/build

dist-test:
	packaging/test

setup:
	.ci/setup

install:
	$(CARGO) install --locked --path crates/parabench --root $(PREFIX)
	mkdir -p $(PREFIX)/share/man/man1 $(PREFIX)/share/bash-completion/completions
	$(PREFIX)/bin/parabench man --into $(PREFIX)/share/man/man1
	$(PREFIX)/bin/parabench completions bash > $(PREFIX)/share/bash-completion/completions/parabench

clean:
	$(CARGO) clean
	rm -rf dist
	rm -rf fuzz/target fuzz/artifacts fuzz/corpus
