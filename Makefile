# Everything a person or a machine does with the project. `make help` lists it.

GO      ?= go
MODULES := lib mur-stage mur-launch mur-shell mur-trace mur-lock mur-doctor drivers examples scripts
COMMANDS := mur-stage mur-launch mur-shell mur-trace mur-lock mur-doctor
BIN     := bin
FUZZTIME ?= 10s

.PHONY: help build drivers demo test ci bench fuzz lint race check-format vet vet-guests cross staticcheck check deps clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

# The tag leaves out a generator of manuals in the library of flags, which no
# command offers and every start would prepare.
build: ## build the commands into bin/
	$(GO) build -tags urfave_cli_no_docs -o $(BIN)/ $(COMMANDS:%=./%)

drivers: build ## build and pack the drivers into drivers/build/
	sh drivers/build.sh

demo: build ## pack, pin, stage, launch and read back a real capsule, offline
	sh scripts/demo.sh

test: deps build ## run every test
	$(GO) test work

race: ## run the WebAssembly hosts under the race detector
	$(GO) test -race -short ./lib/wasmhost/...

lint: check-format vet vet-guests cross staticcheck check ## formatting, vet, static analysis, house rules

check-format:
	@bad=$$(git ls-files '*.go' | xargs gofmt -l); test -z "$$bad" || { echo "gofmt would change:"; echo "$$bad"; exit 1; }

vet:
	$(GO) vet work

# The tests of lib/guest run guests on an engine, which no guest can.
vet-guests:
	GOOS=wasip1 GOARCH=wasm $(GO) build ./lib/guest/... ./drivers/...
	GOOS=wasip1 GOARCH=wasm $(GO) vet ./examples/...

# Where nothing can be confined the programs still build, without a C compiler, and
# commands still start (CON-7, CON-289).
CROSS := darwin/arm64 darwin/amd64 freebsd/amd64 linux/arm64 linux/amd64
cross: ## compile and vet for other systems and without cgo
	@for p in $(CROSS); do \
		echo "$$p without cgo"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) vet $(COMMANDS:%=./%) || exit 1; \
	done
	CGO_ENABLED=0 $(GO) test ./lib/confine/worker

staticcheck:
	$(GO) tool staticcheck $(MODULES:%=./%/...)

check: ## import rules, requirement ids, diagnostic codes
	$(GO) run ./scripts/check

ci: test lint race ## what .ci/run runs

bench: build ## every figure with its peers; ONLY=P1 runs one
	@sh scripts/install-bench-peers.sh
	$(GO) run ./scripts/bench -only "$(ONLY)" -out $(BIN)/bench.json

fuzz: ## run each fuzz target for FUZZTIME
	FUZZTIME=$(FUZZTIME) sh scripts/fuzz.sh

deps: ## install the system packages that tests use, where possible
	@sh scripts/install-test-deps.sh

clean: ## remove what the build made
	rm -rf $(BIN) examples/*/build examples/*/.murmur examples/*/workdir examples/*/capsule.wasm examples/*/murmur.lock lib/out
