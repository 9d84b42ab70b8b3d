package main

import (
	"testing"

	"github.com/mur-capsules/mur/lib/confine/escape"
	"github.com/mur-capsules/mur/lib/policy"
)

// The rows of CON section 18, each in every class and as every user that this
// machine has: CON-P1 to CON-P140 as far as mur-shell run can try them.
// CON-270, CON-271, CON-274, CON-275, CON-276
func TestEscapes(t *testing.T) {
	shell, probeProgram := built(t)
	for user, cred := range users() {
		for _, class := range []policy.Class{policy.Advisory, policy.Scoped, policy.Sealed} {
			t.Run(user+"/"+class.String(), func(t *testing.T) {
				needs(t, class)
				found, err := escape.Run(t.Context(), escape.Options{Shell: shell, Probe: []string{probeProgram}, Class: class, User: cred})
				if err != nil {
					t.Fatal(err)
				}
				count := map[escape.Status]int{}
				for _, f := range found {
					count[f.Status]++
					switch f.Status {
					case escape.Differs:
						t.Errorf("%s %s: owed %q, got %q %s", f.ID, f.What, f.Owed, f.Answer, f.Detail)
					case escape.NotRun:
						t.Logf("%s %s: not run: %s", f.ID, f.What, f.Detail)
					}
				}
				t.Logf("%d held, %d not run, %d without a claim", count[escape.Held], count[escape.NotRun], count[escape.NoClaim])
			})
		}
	}
}
