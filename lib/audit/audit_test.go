package audit

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

var limits = artifact.LimitsOf(nil)

// stored packs files with a manifest and stores them as ana/<name>.
func stored(t *testing.T, s *store.Store, text string, files map[string]string) *store.Item {
	t.Helper()
	dir := t.TempDir()
	root, err := workfs.OpenRoot(dir, workfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, data := range files {
		if err := root.WriteFileMode(name, []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := manifest.ParseArtifact("murmur.yaml", []byte(text), manifest.ArtifactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := artifact.PlanPack(root, []byte(text), m, filepath.Join(dir, "x.mur.zip"), limits)
	if err != nil {
		t.Fatal(err)
	}
	data, err := plan.Build(limits)
	if err != nil {
		t.Fatal(err)
	}
	it, err := store.NewItem(data, artifact.Ref{Full: names.Full{Scope: "ana"}}, artifact.Host(), limits, m.Name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(context.Background(), it, true); err != nil {
		t.Fatal(err)
	}
	return it
}

func capsule(t *testing.T, text string) *manifest.Capsule {
	t.Helper()
	m, _, err := manifest.Parse("murmur.yaml", []byte(text), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// child is a capsule that is also an artifact.
func child(name, version, capabilities string) (text string, files map[string]string) {
	return "name: " + name + "\nversion: " + version + "\nimplementation: wasm\nrequires_files: [capsule.wasm]\ncapabilities: {" + capabilities + "}\n", map[string]string{"capsule.wasm": "\x00asm"}
}

// DIA-59, DIA-77, DIA-198: the newest version of each capsule of the closure is
// held against its parent, once; a circle ends.
func TestClosure(t *testing.T) {
	s := store.Folder("project", t.TempDir(), limits)
	put := func(name, version, capabilities string) {
		text, files := child(name, version, capabilities)
		stored(t, s, text, files)
	}
	put("near", "1.0.0", "env: {allow: [OLD]}")
	put("near", "1.10.0", "env: {allow: [HOME_PAGE, EXTRA]}, spawn: {allow: [ana/far, ana/gone]}")
	put("far", "1.0.0", "env: {allow: [EXTRA, DEEP]}, spawn: {allow: [ana/near]}")
	root := capsule(t, "name: demo\nversion: '1'\ncapabilities: {env: {allow: [HOME_PAGE]}, spawn: {allow: [ana/near, ana/gone]}}\n")
	faults, warnings := Closure(context.Background(), root, store.Chain{s}, artifact.Host())
	var got []string
	for _, err := range faults {
		if diag.CodeOf(err) != "E-CAP-015" {
			t.Errorf("%v has code %q", err, diag.CodeOf(err))
		}
		got = append(got, err.Error())
	}
	for _, want := range []string{
		"demo may delegate to ana/near, whose capabilities.env.allow has EXTRA",
		"ana/near may delegate to ana/far, whose capabilities.env.allow has DEEP",
		"ana/far may delegate to ana/near, whose capabilities.env.allow has HOME_PAGE",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d faults: %q", len(got), got)
	}
	if len(warnings) != 1 || warnings[0].Code != "W-REG-002" || !strings.Contains(warnings[0].Message, "ana/gone, which demo may delegate to, could not be inspected: no store has it") {
		t.Errorf("warnings: %+v", warnings)
	}
	if faults, warnings := Closure(context.Background(), capsule(t, "name: demo\nversion: '1'\n"), nil, artifact.Host()); faults != nil || warnings != nil {
		t.Errorf("of one that delegates to nobody: %v, %v", faults, warnings)
	}
}

// DIA-99, DIA-196, ART-123: a program that was installed for another platform.
func TestProgramOfAnotherPlatform(t *testing.T) {
	s := store.Folder("project", t.TempDir(), limits)
	foreign := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 11) + "\x16" + strings.Repeat("\x00", 45)
	for name, tc := range map[string]struct {
		program string
		code    diag.Code
	}{"here": {"#!/bin/sh\n", ""}, "foreign": {foreign, "E-RUN-021"}} {
		it := stored(t, s, "name: "+name+"\nversion: 1.0.0\nruntime: tool\nimplementation: native\nrequires_files: [bin/"+name+"]\n", map[string]string{"bin/" + name: tc.program})
		m := capsule(t, "name: demo\nversion: '1'\nartifacts: [{name: ana/"+name+", version: 1.0.0}]\n")
		lock := lockfile.Lock{Entries: []lockfile.Entry{store.Pin(it.Ref, it.SHA256, it.Manifest.Kind, artifact.Host())}}
		p := Project{Manifest: m, Lock: lock, Stores: store.Chain{s}, Host: artifact.Host(), Limits: limits}
		findings, err := Run(context.Background(), p, func(w diag.Warning) { t.Errorf("%s: warned %+v", name, w) })
		if err != nil || len(findings) != 1 {
			t.Fatalf("%s: %+v, %v", name, findings, err)
		}
		var code diag.Code
		for _, f := range findings[0].Faults {
			code = diag.CodeOf(f)
		}
		if code != tc.code {
			t.Errorf("%s: %v, want %q", name, findings[0].Faults, tc.code)
		}
	}
}
