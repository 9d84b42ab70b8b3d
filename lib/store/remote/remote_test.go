package remote

import (
	"context"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store/github"
	"github.com/mur-capsules/mur/lib/store/oci"
)

func token(s string) (manifest.Secret, bool) { return manifest.NewSecret(s), true }

// ART-59, ART-60, ART-203: which sources a configuration leads to, in which order,
// and what they log in with.
func TestOpen(t *testing.T) {
	src := func(name, kind, repo, tok string) config.Source {
		s := config.Source{Name: name, Type: kind, Repo: repo}
		if tok != "" {
			s.Token, s.HasToken = token(tok)
		}
		return s
	}
	cfg := config.Registry{Default: "team", Sources: []config.Source{
		src("hub", "github", "Ana/tools", ""), src("mine", "github", "ana/more", "${MY_TOKEN}"),
		src("team", "oci", "registry.example/x/ana", "u:TEAM"), src("odd", "ftp", "x", ""), src("bad", "github", "x", ""), src("none", "", "", ""),
	}}
	r := Open(cfg, Options{Environ: []string{"GITHUB_TOKEN=gh", "MY_TOKEN=mine"}, Limits: artifact.LimitsOf(nil)})
	var labels, scopes []string
	for _, s := range r.Sources {
		labels, scopes = append(labels, s.Label()), append(scopes, s.Scope())
	}
	if got := strings.Join(labels, " "); got != "team hub mine odd bad none" {
		t.Errorf("asked in the order %s", got)
	}
	if got := strings.Join(scopes, ","); got != "ana,ana,ana,,," {
		t.Errorf("scopes %s", got)
	}
	if hub, mine := r.Sources[1].(*github.Repo), r.Sources[2].(*github.Repo); hub.Token != "gh" || mine.Token != "mine" {
		t.Errorf("tokens %q and %q", hub.Token, mine.Token)
	}
	for i, says := range map[int]string{3: "ftp", 4: "<owner>/<name>", 5: "no type"} {
		_, err := r.Sources[i].Newest(context.Background(), names.Full{Scope: "ana", Name: "x"}, "")
		if err == nil || !strings.Contains(err.Error(), "misconfigured") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", labels[i], err)
		}
	}
	if base, ok := r.Base("team"); !ok || base.String() != "oci://registry.example/x/ana" {
		t.Errorf("%v, %v", base, ok)
	}
	if _, ok := r.Base("hub"); ok {
		t.Error("a repository is a place in a registry")
	}
	// A token is for what lies in its source's place, and for nothing beside it.
	of := tokens(cfg, nil)
	for text, want := range map[string]string{
		"oci://registry.example/x/ana/scan:1": "u:TEAM", "oci://registry.example/x/ana2/scan:1": "", "oci://registry.example/scan:1": "", "oci://other.example/x/ana/scan:1": "",
	} {
		a, err := oci.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := of(a); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
