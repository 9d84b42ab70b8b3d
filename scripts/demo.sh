#!/bin/sh
# The main job on embedded defaults, offline: build the example's guests, pack,
# publish and pin them, stage and launch the capsule over this project's own
# lib/ folder, and read its trace back.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/bin:$PATH"
export PATH

say() { printf '\n== %s\n' "$*"; }

say "build the guests of examples/repo-report, pack and pin them"
sh examples/repo-report/build.sh

say "mur-stage | mur-launch, over lib/: what the capsule prints"
result=$(mur-stage --manifest examples/repo-report/murmur.yaml --workdir lib | mur-launch)

say "how the session ended; the report is also in lib/out/report.md"
echo "$result"

say "mur-trace show @1"
cd lib && mur-trace show @1
