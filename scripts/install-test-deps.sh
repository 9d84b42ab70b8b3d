#!/bin/sh
# Installs the Debian packages that some tests use as peers, as a browser or as a
# registry.
# Without root or apt it says what is missing and goes on: the tests that need
# a missing program say so themselves.
set -eu

missing=""
need() { # need <program> <package>
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need jq jq
need chromium chromium
need docker-registry docker-registry

[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing for the tests:$missing"
	log=$(mktemp)
	if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
		rm -f "$log"
		exit 0
	fi
	tail -5 "$log"
	rm -f "$log"
fi
echo "not installed, tests that use them are skipped and say so:$missing"
