#!/bin/sh
# Runs each fuzz target of the workspace for FUZZTIME (default 10s).
set -eu
time=${FUZZTIME:-10s}
dirs=$(git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n1 dirname | sort -u)
for dir in $dirs; do
	for target in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //'); do
		echo "== $dir $target $time"
		go test "./$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 100x
	done
done
