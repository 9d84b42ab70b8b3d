#!/bin/sh
# Builds the drivers with the Go tool chain and packs them into build/: one
# <name>-<version>.mur.zip each, for mur-lock install. It reaches no network and
# writes nothing outside this folder. mur-lock is taken from ../bin
# (`make build`), else from PATH.
set -eu
cd "$(dirname "$0")"
PATH="$PWD/../bin:$PATH"

for driver in anthropic openai replay relay; do
	mkdir -p "build/$driver"
	cp "$driver/murmur.yaml" "build/$driver/"
	if [ -f "$driver/main.go" ]; then
		echo "go build ./$driver"
		GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags='-s -w' -o "build/$driver/$driver.wasm" "./$driver"
	else # written in C, and checked in
		cp "$driver/$driver.wasm" "build/$driver/"
	fi
	mur-lock pack "build/$driver" --output build/
done
