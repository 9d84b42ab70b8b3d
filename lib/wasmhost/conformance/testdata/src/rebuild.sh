#!/bin/sh
# Rebuilds the guests of the conformance suite from guest.c: the core module,
# which is tool and capsule in one, and a component for each. It needs Debian's
# clang, lld, wasi-libc and libclang-rt-dev-wasm32 (CLANG names another clang),
# Go, and npm, from whose package @bytecodealliance/jco the preview 1 adapter is
# taken. The guests are checked in: no test runs this.
set -eu
cd "$(dirname "$0")"
clang=${CLANG:-clang}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
npm pack --silent --pack-destination "$tmp" @bytecodealliance/jco@1.35.0 >/dev/null
tar -xzf "$tmp"/*.tgz -C "$tmp" package/lib/wasi_snapshot_preview1.reactor.wasm
mv "$tmp/package/lib/wasi_snapshot_preview1.reactor.wasm" "$tmp/adapter.wasm"
(cd ../../../../../examples && go build -o "$tmp/wasm-tools" ./wasm-tools)
cp world.wit "$tmp"

compile() { "$clang" --target=wasm32-wasi -std=gnu11 -Os -Wall -Wextra -Werror -Wl,--strip-all guest.c "$@" -lc-printscan-no-floating-point; }
compile -DCORE -o "$tmp/core.wasm"
for world in tool capsule; do
	define=-DTOOL
	[ $world = capsule ] && define=-DCAPSULE
	compile $define -mexec-model=reactor -o "$tmp/module.wasm"
	(
		cd "$tmp" # wasm-tools sees this folder alone
		./wasm-tools component embed world.wit module.wasm --world $world -o embedded.wasm
		./wasm-tools component new embedded.wasm --adapt wasi_snapshot_preview1=adapter.wasm -o $world.wasm
	)
done
for guest in core tool capsule; do
	install -m 644 "$tmp/$guest.wasm" ../$guest.wasm
done
cat guest.c core.h component.h world.wit | sha256sum | cut -d' ' -f1 >../guests.sources
