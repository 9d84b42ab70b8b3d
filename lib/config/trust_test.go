package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// MAN-285, MAN-316, MAN-317: a project can demand more, never less, and names no
// keys.
func TestTrust(t *testing.T) {
	for _, c := range []struct {
		global, project    string
		artifacts, bundles bool
		keys               []string
		warns              bool
	}{
		{"", "", false, false, nil, false},
		{"trust: {require: none, keys: [a.pub, /k/b.pub]}", "", false, false, []string{"a.pub", "/k/b.pub"}, false},
		{"trust: {require: bundles}", "trust: {require: none}", false, true, nil, false},
		{"trust: {require: bundles}", "trust: {require: all}", true, true, nil, false},
		{"trust: {require: all}", "trust: {require: bundles, keys: [x.pub]}", true, true, nil, true},
		{"", "trust: {require: bundles}", false, true, nil, false},
	} {
		got, warnings, err := load(t, c.global, c.project)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, k := range got.Trust.Keys {
			if !filepath.IsAbs(k) {
				t.Errorf("%s is not absolute", k)
			}
			if rel, err := filepath.Rel(filepath.Dir(got.GlobalFile), k); err == nil && !strings.HasPrefix(rel, "..") {
				k = rel
			}
			keys = append(keys, k)
		}
		if got.Trust.Artifacts() != c.artifacts || got.Trust.Bundles() != c.bundles || !slices.Equal(keys, c.keys) || (len(warnings) > 0) != c.warns {
			t.Errorf("%q and %q: %+v, %v", c.global, c.project, got.Trust, warnings)
		}
	}
	for _, bad := range []string{"trust: {require: some}", "trust: {keys: x}", "trust: 1"} {
		if _, _, err := load(t, bad, ""); diag.CodeOf(err) != "E-IO-003" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
