#!/bin/sh
# Rebuilds todo-scan.wasm from todo-scan.c. It needs Debian's clang and lld, and
# Go, which fetches wasm-tools as a module. Only who changes the C source runs
# it: the component is checked in, so that building the example needs Go alone.
set -eu
cd "$(dirname "$0")"
mkdir -p build

# The program as a core module: no libc, no start function, just exports.
clang --target=wasm32-unknown-unknown -std=c11 -O2 -mbulk-memory \
	-Wall -Wextra -Werror -ffreestanding -nostdlib \
	-Wl,--no-entry -Wl,--strip-all -o build/core.wasm todo-scan.c

# Its types (world.wit) beside it, and both wrapped into a component.
wasm_tools() { go run ../../../wasm-tools "$@"; }
wasm_tools component embed world.wit build/core.wasm -o build/embedded.wasm
wasm_tools component new build/embedded.wasm -o build/todo-scan.wasm

cat todo-scan.c wasi.h world.wit | sha256sum | cut -d' ' -f1 >build/sources
mv build/todo-scan.wasm todo-scan.wasm
mv build/sources todo-scan.wasm.sources
chmod 644 todo-scan.wasm
