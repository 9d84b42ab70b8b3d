package manifest

import (
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// policyKeys are those keys of a capabilities block that a policy file has.
var policyKeys = []string{"containment", "network", "filesystem", "shell", "resources"}

// ParsePolicy reads the policy file of mur-shell run: keys of a manifest's
// capabilities block at the top level, with the same names, defaults and checks.
// Every other key is refused (SHL-137). The error is as of Parse.
func ParsePolicy(file string, data []byte) (*policy.Capabilities, []diag.Warning, error) {
	opts := Options{Strict: true}
	d, top, err := openTop(file, data, opts, policyKeys)
	if err != nil {
		return nil, nil, err
	}
	c := &policy.Capabilities{}
	if top != nil {
		c = d.grants(top, wholeCapsule)
	}
	warnings := d.finish("", opts)
	return c, warnings, d.Err()
}
