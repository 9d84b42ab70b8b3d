package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/murtest/registry"
)

// TestRegistryScripts runs the scripts that need a registry. Beside the usual
// commands they have:
//
//	registry start [auth] [tls]        start one; $REGISTRY is its address
//	registry stop | again              stop it, start it at the same address
//	registry tamper | truncate | lose HASH    damage what it keeps
//	registry keeps HASH                check that it has a blob
//	login USER PASSWORD                what docker login leaves behind
//	hash NAME FILE                     set $NAME to the SHA-256 of a file
func TestRegistryScripts(t *testing.T) {
	if why := registry.Missing(); why != "" {
		t.Skip(why)
	}
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/registry",
		Setup: setupScript,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"registry": control, "login": login, "hash": hash, "hide": hide, "replace": replace, "mkcomponent": mkcomponent,
		},
	})
}

func control(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "start" {
		var o registry.Options
		for _, a := range args[1:] {
			switch a {
			case "auth":
				o.User, o.Password = "ana", "open-sesame"
			case "tls":
				o.TLS = true
			}
		}
		r, err := registry.Start(ts.MkAbs("registry"), o)
		ts.Check(err)
		ts.Defer(r.Stop)
		ts.Setenv("REGISTRY", r.Host)
		if r.CA != "" {
			ts.Setenv("REGISTRY_CA", r.CA)
		}
		running[ts.Getenv("WORK")] = r
		return
	}
	r := running[ts.Getenv("WORK")]
	switch args[0] {
	case "stop":
		r.Stop()
	case "again":
		ts.Check(r.Again())
	case "keeps":
		if _, err := os.Stat(r.Blob(args[1])); (err == nil) == neg {
			ts.Fatalf("%v", err)
		}
	case "tamper", "truncate":
		data, err := os.ReadFile(r.Blob(args[1]))
		ts.Check(err)
		if args[0] == "tamper" {
			data[len(data)/2] ^= 1
		} else {
			data = data[:len(data)-7]
		}
		ts.Check(os.WriteFile(r.Blob(args[1]), data, 0o644))
	case "lose":
		ts.Check(os.Remove(r.Blob(args[1])))
	default:
		ts.Fatalf("registry %s?", args[0])
	}
}

// running holds the registry of each script by its directory. Scripts do not run
// at the same time.
var running = map[string]*registry.Registry{}

func login(ts *testscript.TestScript, neg bool, args []string) {
	config := map[string]any{"auths": map[string]any{
		ts.Getenv("REGISTRY"): map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(args[0] + ":" + args[1]))},
	}}
	data, err := json.Marshal(config)
	ts.Check(err)
	dir := filepath.Join(ts.Getenv("HOME"), ".docker")
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600))
}

func hash(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv(args[0], artifact.Hash([]byte(ts.ReadFile(args[1]))))
}
