#!/bin/sh
# The main job on embedded defaults, offline: build the examples' guests, pack,
# publish and pin them, stage and launch a script capsule over this project's own
# lib/ folder and an agent over a clone of the project, and read the traces back.
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
(cd lib && mur-trace show @1)

say "build the drivers; pack and pin examples/repo-agent"
sh examples/repo-agent/build.sh

say "mur-stage | mur-launch: an agent with tools and two commands under sealed, its model a script"
folder=bin/demo
rm -rf "$folder"
git clone -q --depth 5 "file://$PWD" "$folder" 2>/dev/null || cp -R lib "$folder"
if mur-stage --manifest examples/repo-agent/murmur.yaml --workdir "$folder" >bin/demo.json 2>bin/demo.log &&
	mur-launch --stream --task "What is in this project?" bin/demo.json 2>>bin/demo.log; then
	cat bin/demo.log >&2
	say "mur-trace show @1"
	cd "$folder" && mur-trace show @1
else
	cat bin/demo.log >&2
	grep -qF -e 'error[E-CAP-003]' -e 'error[E-RUN-012]' bin/demo.log
	say "this host does not let this user hold commands in a box, so the agent was refused"
fi
