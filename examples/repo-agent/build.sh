#!/bin/sh
# Makes the capsule runnable: builds the drivers and the tools of repo-report,
# installs them into this project's own store (.murmur) and pins them in
# murmur.lock. It reaches no network and writes nothing outside this project.
# mur-lock is taken from ../../bin (`make build`), else from PATH.
set -eu
cd "$(dirname "$0")"
PATH="$PWD/../../bin:$PATH"

sh ../repo-report/build.sh
sh ../../drivers/build.sh

rm -f murmur.lock
mur-lock install \
	../repo-report/build/code-stats-0.1.0.mur.zip ../repo-report/build/todo-scan-0.1.0.mur.zip \
	../../drivers/build/replay-0.1.0.mur.zip ../../drivers/build/anthropic-0.1.0.mur.zip ../../drivers/build/openai-0.1.0.mur.zip
mur-lock install
