package forms

import (
	"bytes"
	"testing"
)

// Each format has a header and a fingerprint of its own, by which a form is found
// again, and core modules run in every build. WIT-5, WIT-68, WIT-69, ART-127
func TestBuilt(t *testing.T) {
	formats := Built()
	for i, a := range formats {
		if a.Missing != (a.Info.Fingerprint == "") || a.Implementation == Core && a.Missing {
			t.Errorf("%s: missing %v, %+v", a.Implementation, a.Missing, a.Info)
		}
		for _, b := range formats[:i] {
			if bytes.HasPrefix(a.Header, b.Header) || a.Info.Fingerprint == b.Info.Fingerprint {
				t.Errorf("%s and %s are the same: %+v, %+v", a.Implementation, b.Implementation, a.Info, b.Info)
			}
		}
		if a.Missing {
			continue
		}
		e, err := a.Engine()
		if err != nil {
			t.Fatal(err)
		}
		if e.Info() != a.Info {
			t.Errorf("%s: the engine says %+v, its format %+v", a.Implementation, e.Info(), a.Info)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
