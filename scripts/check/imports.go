package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
)

const module = "github.com/mur-capsules/mur/"

// rooms says which packages of lib each package of lib may import. A package
// that is not listed may not exist: add it here and to ARCHITECTURE.md.
var rooms = map[string][]string{
	"diag":                     {},
	"ids":                      {"diag"},
	"names":                    {"diag"},
	"workfs":                   {"diag"},
	"policy":                   {"diag", "names"},
	"manifest":                 {"diag", "names", "policy", "internal/strictyaml"},
	"config":                   {"diag", "names", "policy", "internal/strictyaml", "workfs", "manifest"},
	"artifact":                 {"diag", "names", "manifest", "policy", "workfs"},
	"lockfile":                 {"diag", "names", "workfs"},
	"store":                    {"diag", "names", "artifact", "lockfile", "manifest", "policy", "workfs"},
	"store/layout":             {},
	"store/source":             {"diag", "names", "store"},
	"store/oci":                {"diag", "names", "artifact", "store", "store/layout", "store/source"},
	"store/github":             {"diag", "names", "artifact", "store", "store/source"},
	"store/remote":             {"diag", "artifact", "config", "store/github", "store/oci", "store/source"},
	"bundle":                   {"diag", "artifact", "lockfile", "manifest", "policy", "provenance", "session/stale", "store", "store/layout", "workfs"},
	"provenance":               {"diag", "workfs"},
	"forms":                    {"artifact", "store", "wasmhost", "wasmhost/core", "wasmhost/component"},
	"confine":                  {"diag", "policy"},
	"confine/seccomp":          {},
	"confine/landlock":         {"confine"},
	"confine/worker":           {"confine/landlock", "confine/packet"},
	"confine/packet":           {},
	"confine/memory":           {},
	"confine/egress":           {"policy"},
	"confine/netns":            {},
	"confine/holder":           {"confine/packet", "confine/egress", "confine/netns", "confine/worker"},
	"confine/closure":          {},
	"confine/grants":           {"confine", "confine/closure", "policy", "diag"},
	"confine/readonly":         {"toolschema"},
	"confine/escape":           {"confine", "confine/escape/attempt", "confine/seccomp", "policy"},
	"confine/escape/attempt":   {},
	"audit":                    {"provenance", "artifact", "diag", "lockfile", "manifest", "names", "store", "wasmhost"},
	"spend":                    {"diag", "ids", "workfs"},
	"toolschema":               {"diag"},
	"confine/box":              {},
	"confine/probe":            {"confine", "confine/netns"},
	"session":                  {"diag", "ids", "names", "policy", "workfs", "confine"},
	"session/running":          {"ids", "workfs"},
	"session/stale":            {"session", "ids", "workfs"},
	"session/schema":           {},
	"shellproto":               {"diag"},
	"trace":                    {"diag", "ids", "workfs"},
	"trace/schema":             {},
	"trace/tracegen":           {"trace", "ids", "workfs"}, // for tests and benchmarks
	"wasmhost":                 {"diag", "policy"},
	"wasmhost/outbound":        {"wasmhost", "policy"},
	"wasmhost/core":            {"wasmhost", "wasmhost/outbound", "wasmhost/core/onwasmtime", "wasmhost/core/onwazero", "wasmhost/core/runner", "wasmhost/core/sections", "wasmhost/core/wasip1"},
	"wasmhost/core/onwasmtime": {"wasmhost", "wasmhost/core/runner", "wasmhost/core/sections", "wasmhost/wasmtime"},
	"wasmhost/core/onwazero":   {"wasmhost", "wasmhost/core/runner", "wasmhost/core/sections"},
	"wasmhost/core/runner":     {"wasmhost", "wasmhost/core/sections"},
	"wasmhost/core/sections":   {},
	"wasmhost/core/wasip1":     {"wasmhost/hostfile"},
	"wasmhost/hostfile":        {},
	"wasmhost/component":       {"wasmhost", "wasmhost/component/wasi", "wasmhost/wasmtime"},
	"wasmhost/component/wasi":  {"wasmhost", "wasmhost/hostfile", "wasmhost/wasmtime"},
	"wasmhost/wasmtime":        {},
	"wasmhost/wasmtime/bare":   {},
	"wasmhost/conformance":     {"wasmhost", "wasmhost/core", "wasmhost/component", "wasmhost/outbound", "policy"},
	"internal/strictyaml":      {"diag"},
	"confine/cgroup":           {"confine", "policy"},
	"confine/seccomp/gen":      {},
	"guest/guesthttp":          {"guest"},
	"guest/internal/murmur":    {},
	"guest":                    {"guest/internal/murmur"},
	"cli":                      {"diag"},
	"murtest":                  {},
	"murtest/registry":         {},
	"murtest/provider":         {},
	"murtest/sample":           {"artifact", "manifest", "names", "store", "workfs"},
}

// leaves says which packages alone may import a heavy or privileged module:
// directories, relative to the project, whose tree may.
var leaves = map[string][]string{
	"github.com/bytecodealliance/wasmtime-go": {"lib/wasmhost/wasmtime"},
	"github.com/tetratelabs/wazero":           {"lib/wasmhost/core/onwazero", "examples/wasm-tools"},
	"golang.org/x/net/bpf":                    {"lib/confine/seccomp", "lib/confine/worker", "mur-shell/internal/room"},
	"gopkg.in/yaml.v3":                        {"lib/internal/strictyaml", "lib/config", "lib/lockfile", "lib/manifest"},
	"github.com/itchyny/gojq":                 {"mur-trace"},
	"go.opentelemetry.io":                     {"mur-trace"},
	"oras.land":                               {"lib/store/oci"},
	"github.com/secure-systems-lab":           {"lib/provenance"},
	"github.com/opencontainers":               {"lib/confine/box", "lib/confine/cgroup", "lib/store/oci"},
	"github.com/opencontainers/runc":          {"lib/confine/box"},
	"github.com/urfave/cli":                   {"lib/cli", "mur-stage/internal/app", "mur-launch/internal/app", "mur-shell/internal/app", "mur-trace/internal/app", "mur-lock/internal/app", "mur-doctor/internal/app"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// checkImports reads the imports of every package of the workspace, tests left
// out: a test may use a neighbour to prove something.
func checkImports(root string) ([]string, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "work")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var breaches []string
	dec := json.NewDecoder(bytes.NewReader(out))
	for dec.More() {
		var p listed
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		breaches = append(breaches, importBreaches(p)...)
	}
	return breaches, nil
}

func importBreaches(p listed) []string {
	from, ok := strings.CutPrefix(p.ImportPath, module)
	if !ok {
		return nil
	}
	var out []string
	command, _, _ := strings.Cut(from, "/")
	room, inLib := strings.CutPrefix(from, "lib/")
	if _, known := rooms[room]; inLib && !known {
		out = append(out, fmt.Sprintf("%s is a room nobody planned: add it to scripts/check and ARCHITECTURE.md", from))
	}
	for _, imp := range p.Imports {
		for heavy, allowed := range leaves {
			if (imp == heavy || strings.HasPrefix(imp, heavy+"/")) && !slices.ContainsFunc(allowed, func(a string) bool { return within(from, a) }) {
				out = append(out, fmt.Sprintf("%s imports %s, which is for %s alone", from, imp, strings.Join(allowed, ", ")))
			}
		}
		to, ours := strings.CutPrefix(imp, module)
		if !ours {
			continue
		}
		target, toLib := strings.CutPrefix(to, "lib/")
		switch {
		case inLib && !toLib:
			out = append(out, fmt.Sprintf("%s imports %s: lib knows no command", from, to))
		case inLib && !slices.Contains(rooms[room], target):
			out = append(out, fmt.Sprintf("%s imports %s: not among what it may", from, to))
		case !inLib && !toLib && !within(to, command) && command != "scripts":
			out = append(out, fmt.Sprintf("%s imports %s: commands meet in documents and processes only", from, to))
		}
	}
	return out
}

func within(pkg, dir string) bool {
	return pkg == dir || strings.HasPrefix(pkg, path.Clean(dir)+"/")
}
