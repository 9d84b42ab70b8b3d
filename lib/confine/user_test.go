package confine

import (
	"errors"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
)

// CON-278
func TestChooseUser(t *testing.T) {
	mapped := RunAs{UID: 65534, GID: 65534, Access: "idmap"}
	root := Reading{Root: &RootUser{RunAs: &mapped}}
	owned := func(uid int, err error) func(string) (int, int, error) {
		return func(string) (int, int, error) { return uid, uid + 1, err }
	}
	for name, tc := range map[string]struct {
		r     Reading
		class policy.Class
		owner func(string) (int, int, error)
		want  RunAs
	}{
		"an ordinary user":        {Reading{UID: 7, GID: 8}, policy.Sealed, owned(9, nil), RunAs{7, 8, "self"}},
		"root in another's":       {root, policy.Sealed, owned(9, nil), RunAs{9, 10, "owner"}},
		"root in its own":         {root, policy.Scoped, owned(0, nil), mapped},
		"root in none":            {root, policy.Scoped, owned(9, errors.New("gone")), mapped},
		"root, unconfined":        {root, policy.Unconfined, owned(9, nil), RunAs{0, 0, "self"}},
		"root who can not change": {Reading{Root: &RootUser{}}, policy.Advisory, owned(0, nil), RunAs{0, 0, "self"}},
	} {
		if got := ChooseUser(tc.r, tc.class, "/w", tc.owner); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
