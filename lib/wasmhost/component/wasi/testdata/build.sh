#!/bin/sh
# Rebuilds files.wasm from files.c. Not needed to run the tests.
# Needs clang, lld, wasi-libc and libclang-rt-dev-wasm32 of Debian, node and npm.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang --target=wasm32-wasi -Os -s -o "$work/core.wasm" files.c
npm install --prefix "$work" --no-audit --no-fund @bytecodealliance/jco >/dev/null
cat > "$work/new.mjs" <<'JS'
import { readFile, writeFile } from 'fs/promises';
const tools = await import('./node_modules/@bytecodealliance/jco-transpile/dist/wasm-tools.js');
const [,, core, adapter, out] = process.argv;
await writeFile(out, await tools.componentNew(await readFile(core), [['wasi_snapshot_preview1', await readFile(adapter)]]));
JS
node "$work/new.mjs" "$work/core.wasm" "$work/node_modules/@bytecodealliance/jco/lib/wasi_snapshot_preview1.command.wasm" files.wasm
