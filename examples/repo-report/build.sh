#!/bin/sh
# Makes the capsule runnable: builds its guests with the Go tool chain, packs the
# tools, installs them into this project's own store (.murmur) and pins them in
# murmur.lock. It reaches no network and writes nothing outside this folder.
# mur-lock is taken from ../../bin (`make build`), else from PATH.
set -eu
cd "$(dirname "$0")"
PATH="$PWD/../../bin:$PATH"

guest() { # output, package
	echo "go build $2"
	GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags='-s -w' -o "$1" "$2"
}

# Script capsules run capsule.wasm beside their murmur.yaml.
guest capsule.wasm ./capsule

# A package is made from a folder with the manifest and the files it names.
mkdir -p build/code-stats build/todo-scan
cp tools/code-stats/murmur.yaml build/code-stats/
guest build/code-stats/code-stats.wasm ./tools/code-stats
cp tools/todo-scan/murmur.yaml tools/todo-scan/todo-scan.wasm build/todo-scan/

# What was built anew has another hash, so it is pinned anew.
rm -f murmur.lock
for tool in code-stats todo-scan; do
	mur-lock pack "build/$tool" --output build/
	mur-lock install "./build/$tool-0.1.0.mur.zip"
done
mur-lock install
