package checks

import (
	"errors"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/cli"
)

// What a command says to --version is taken apart, and what is no such answer is an
// error. DIA-207
func TestHeard(t *testing.T) {
	for _, tc := range []struct {
		said, version, document string
		err                     error
	}{
		{said: "mur-stage 0.1.0 (linux/amd64, go1.26, writes murmur.session/1)\n", version: "0.1.0", document: "murmur.session/1"},
		{said: "mur-stage 0.1.0 (linux/amd64, go1.26 X:a,b, reads murmur.session/12)", version: "0.1.0", document: "murmur.session/12"},
		{said: "mur-stage 0.2.0-rc.1 (linux/amd64, go1.26)\n", version: "0.2.0-rc.1"},
		{said: "mur-stage 7", version: "7"},
		{said: "mur-launch 0.1.0"},
		{said: "mur-stage"},
		{said: "mur-stage version 0.1.0"},
		{said: ""},
		{said: "mur-stage 0.1.0", err: errors.New("exit status 3")},
	} {
		a := heard("mur-stage", "/bin/mur-stage", tc.said, tc.err)
		if a.version != tc.version || a.document != tc.document || (a.err == nil) != (tc.version != "") || a.path != "/bin/mur-stage" {
			t.Errorf("%q: %+v", tc.said, a)
		}
	}
}

// Without a project a command that is not there is a warning; with one it fails the
// check where none runs without it. DIA-207
func TestMissingCommands(t *testing.T) {
	for _, name := range commandNames {
		if name == "mur-doctor" {
			continue
		}
		if got := commandRow(name, map[string]answer{}, false); got.Status != Warning || got.Remedy == "" {
			t.Errorf("without a project: %+v", got)
		}
		want := Warning
		if name == "mur-stage" || name == "mur-launch" {
			want = Failed
		}
		if got := commandRow(name, map[string]answer{}, true); got.Status != want || got.Code != "" || got.Subject != name {
			t.Errorf("with a project: %+v, want %s", got, want)
		}
	}
}

// Nobody says that two commands understand each other where one did not say what it
// reads or writes. DIA-207
func TestUnknownDocuments(t *testing.T) {
	answers := map[string]answer{"mur-stage": {path: "/b/mur-stage", version: cli.Version, document: "murmur.session/1"}, "mur-launch": {path: "/b/mur-launch", version: "9"}}
	if got := commandRow("mur-launch", answers, true); got.Status != Warning || !strings.Contains(got.Message, "is not known") {
		t.Errorf("%+v", got)
	}
	if got := commandRow("mur-stage", answers, true); got.Status != OK {
		t.Errorf("%+v", got)
	}
}
