#!/bin/sh
# Rebuilds relay.wasm from relay.c. It needs Debian's clang and lld, and Go,
# which fetches wasm-tools as a module. Only who changes the source runs it: the
# component is checked in, so that building the drivers needs Go alone.
set -eu
cd "$(dirname "$0")"
mkdir -p build

clang --target=wasm32-unknown-unknown -std=c11 -Os -mbulk-memory \
	-Wall -Wextra -Werror -ffreestanding -nostdlib \
	-Wl,--no-entry -Wl,--strip-all -o build/core.wasm relay.c

# Its types (world.wit) beside it, and both wrapped into a component.
wasm_tools() { go run ../../examples/wasm-tools "$@"; }
wasm_tools component embed world.wit build/core.wasm -o build/embedded.wasm
wasm_tools component new build/embedded.wasm -o build/relay.wasm

mv build/relay.wasm relay.wasm
chmod 644 relay.wasm
cat relay.c world.wit | sha256sum | cut -d' ' -f1 >relay.wasm.sources
