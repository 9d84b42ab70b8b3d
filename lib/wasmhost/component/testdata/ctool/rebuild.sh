#!/bin/sh
# Rebuilds ctool.wasm from ctool.c. It needs Debian's clang, lld, wasi-libc and
# libclang-rt-dev-wasm32, Go, and npm, from whose package @bytecodealliance/jco
# the preview 1 adapter is taken. The component is checked in: no test runs this.
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
npm pack --silent --pack-destination "$tmp" @bytecodealliance/jco@1.35.0 >/dev/null
tar -xzf "$tmp"/*.tgz -C "$tmp" package/lib/wasi_snapshot_preview1.reactor.wasm
clang --target=wasm32-wasi -O2 -Wall -Wextra -Werror -mexec-model=reactor -Wl,--strip-all -o "$tmp/core.wasm" ctool.c
cp world.wit "$tmp"
(cd ../../../../../examples && go build -o "$tmp/wasm-tools" ./wasm-tools)
(
	cd "$tmp" # wasm-tools sees this folder alone
	./wasm-tools component embed world.wit core.wasm -o embedded.wasm
	./wasm-tools component new embedded.wasm --adapt wasi_snapshot_preview1=package/lib/wasi_snapshot_preview1.reactor.wasm -o ctool.wasm
)
cp "$tmp/ctool.wasm" ctool.wasm
chmod 644 ctool.wasm
