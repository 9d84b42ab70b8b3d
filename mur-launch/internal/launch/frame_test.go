package launch

import (
	"reflect"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
)

// ART-120, SES-265, TRC-13: the first line names the bundle, and of the artifacts
// those whose pin a session wrote, with that session.
func TestSessionStartNamesWhatWasStaged(t *testing.T) {
	ref := "oci://registry.example/ana/p:1"
	doc := &session.Document{
		Bundle: &session.Bundle{Digest: "sha256:ab", Ref: &ref},
		Artifacts: []session.Artifact{
			{Name: "ana/own", Version: "1", Origin: session.Origin{Kind: "operator"}},
			{Name: "ana/late", Version: "2", Origin: session.Origin{Kind: "runtime", Session: "ses_1"}},
		},
	}
	s := sessionStart(doc, confine.IOMax{}, nil)
	want := []trace.RuntimeArtifact{{Name: "ana/late", Version: "2", Origin: "runtime", Session: "ses_1", Trust: "untrusted"}}
	if !reflect.DeepEqual(s.RuntimeArtifacts, want) {
		t.Errorf("%+v", s.RuntimeArtifacts)
	}
	if s.Bundle == nil || s.Bundle.Digest != "sha256:ab" || *s.Bundle.Ref != ref {
		t.Errorf("%+v", s.Bundle)
	}
}
