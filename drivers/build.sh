#!/bin/sh
# Builds the drivers with the Go tool chain and packs them into the folder given,
# else build/ beside this file: one <name>-<version>.mur.zip each, for mur-lock
# install. It reaches no network and writes nothing elsewhere. mur-lock is taken
# from PATH, else from ../bin (`make build`).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/build}
mkdir -p "$build"
build=$(cd "$build" && pwd)
cd "$here"
PATH="$PATH:$PWD/../bin"

for driver in anthropic openai replay relay; do
	mkdir -p "$build/$driver"
	cp "$driver/murmur.yaml" "$build/$driver/"
	if [ -f "$driver/main.go" ]; then
		echo "go build ./$driver"
		GOOS=wasip1 GOARCH=wasm go build -trimpath -buildvcs=false -ldflags='-s -w' -o "$build/$driver/$driver.wasm" "./$driver"
	else # written in C, and checked in
		cp "$driver/$driver.wasm" "$build/$driver/"
	fi
	mur-lock pack "$build/$driver" --output "$build/"
done
