package readonly

import (
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/toolschema"
)

// checker protects locked and a/b in /w, where link leads to locked and real to
// itself.
func checker() *Checker {
	return New("/w", []string{" locked ", "", "a/b", "alias"}, func(p string) string {
		for link, target := range map[string]string{"/w/link": "/w/locked", "/w/alias": "/srv/target"} {
			if p == link || strings.HasPrefix(p, link+"/") {
				return target + strings.TrimPrefix(p, link)
			}
		}
		return p
	})
}

// CON-P128, CON-P129, CON-P131, CON-242 to CON-247, CON-256
func TestBodies(t *testing.T) {
	for _, tc := range []struct{ body, path, via string }{
		{"echo x > locked/a", "locked/a", ">"},
		{"echo x >locked/a", "locked/a", ">"},
		{"make 2>>locked/a", "locked/a", "2>>"},
		{"cat a |tee locked/a", "locked/a", "tee"},
		{"x >| locked", "locked", ">|"},
		{"x <> locked/a", "locked/a", "<>"},
		{"x &> locked/a", "locked/a", "&>"},
		{"x &>>locked/a", "locked/a", "&>>"},
		{"x >& locked/a", "locked/a", ">&"},
		{"x > locked/../locked/a", "locked/../locked/a", ">"},
		{"x > ./locked//a", "./locked//a", ">"},
		{"x > link/a", "link/a", ">"},
		{"x > /w/locked", "/w/locked", ">"},
		{"x > /srv/target/y", "/srv/target/y", ">"},
		{"x > 'locked/a b'", "locked/a b", ">"},
		{`x > lock\ed/a`, "locked/a", ">"},
		{`x > "locked"/a`, "locked/a", ">"},
		{"true && rm -rf -- locked/a", "locked/a", "rm"},
		{"(cd x; touch locked)", "locked", "touch"},
		{"{ mkdir locked/d; }", "locked/d", "mkdir"},
		{"if true; then chmod 600 locked; fi", "locked", "chmod"},
		{"LANG=C rm locked/a", "locked/a", "rm"},
		{"/bin/rm locked/a", "locked/a", "rm"},
		{"echo a\nrm locked/a", "locked/a", "rm"},
		{"echo `rm locked/a`", "locked/a", "rm"},
		{"rm -r a", "a", "rm"},
		{"rm -r .", ".", "rm"},
		{"mv a elsewhere", "a", "mv"},
		{"mv x locked", "locked", "mv"},
		{"cp x y locked/", "locked/", "cp"},
		{"cp -t locked x y", "locked", "cp"},
		{"install --target-directory=locked x", "locked", "install"},
		{"ln -s x locked/l", "locked/l", "ln"},
		{"sed -i s/a/b/ x locked/a", "locked/a", "sed -i"},
		{"sed -i.bak -e s/a/b/ locked/a", "locked/a", "sed -i"},
		{"sed -ni p locked/a", "locked/a", "sed -i"},
		{"dd if=/dev/zero of=locked/a", "locked/a", "dd of="},
		{"cat <<EOF > locked/a\nx\nEOF", "locked/a", ">"},
		{"cat <<EOF\nx\nEOF\nrm locked/a", "locked/a", "rm"},

		{"cat locked/a", "", ""},
		{"cat < locked/a", "", ""},
		{"cp locked/a x", "", ""},
		{"sed s/a/b/ locked/a", "", ""},
		{"sed -i locked x", "", ""}, // the script's name is no file
		{"echo x > lockedness", "", ""},
		{"echo x 2>&1", "", ""},
		{"echo x >&2", "", ""},
		{"echo x >&-", "", ""},
		{"echo 'rm locked/a'", "", ""},
		{"echo rm locked/a", "", ""},
		{"# rm locked/a", "", ""},
		{"cat <<EOF\nrm locked/a\nEOF", "", ""},
		{"cat <<-'X'\n\trm locked/a\n\tX\ntrue", "", ""},
		{"rm a/bc a/c", "", ""},
		{"mkdir a", "", ""},
		{"python3 -c 'open(\"locked/a\",\"w\")'", "", ""}, // the declared gap
		{"rm $X/locked", "", ""},
		{"", "", ""}, {"'", "", ""}, {"\\", "", ""}, {">", "", ""}, {"cat <<", "", ""},
	} {
		got := checker().Body(tc.body)
		switch {
		case tc.path == "" && got != nil:
			t.Errorf("%q: %+v", tc.body, *got)
		case tc.path != "" && got == nil:
			t.Errorf("%q: not seen", tc.body)
		case got != nil && (got.Path != tc.path || got.Via != tc.via || got.Entry == ""):
			t.Errorf("%q: %+v, want %s by %s", tc.body, *got, tc.path, tc.via)
		}
	}
}

// CON-247
func TestDirectCommandsHaveNoOperators(t *testing.T) {
	c := checker()
	if h := c.Direct("echo", []string{">", "locked/a"}); h != nil {
		t.Errorf("%+v", h)
	}
	if h := c.Direct("tee", []string{"-a", "x", "locked/a"}); h == nil || h.Entry != "locked" {
		t.Errorf("%+v", h)
	}
}

// CON-P130, CON-248 to CON-252
func TestInputs(t *testing.T) {
	none := toolschema.Annotations{}
	empty, suffixed := []string{}, []string{"{dir}/a", "{<input>}"}
	for _, tc := range []struct {
		name, input string
		a           toolschema.Annotations
		via         string
	}{
		{"destination key", `{"Dest-Path": "locked/a"}`, none, "Dest-Path"},
		{"path with content", `{"path": "locked/a", "content": ""}`, none, "path"},
		{"path alone", `{"path": "locked/a"}`, none, ""},
		{"content elsewhere", `{"path": "locked/a", "x": {"content": ""}}`, none, ""},
		{"nested", `{"edits": [{"to": "x"}, {"TO": ["locked"]}]}`, none, "TO"},
		{"no JSON", `locked/a`, none, ""},
		{"annotated", `{"where": "locked/a"}`, toolschema.Annotations{Destinations: []string{"where"}}, "where"},
		{"annotated in array", `{"files": [{"p": "x"}, {"p": "locked"}]}`, toolschema.Annotations{Destinations: []string{"files[].p"}}, "p"},
		{"opaque", `{"blob": {"to": "locked"}}`, toolschema.Annotations{Opaque: []string{"blob"}}, ""},
		{"destination below opaque", `{"blob": {"to": "locked"}}`, toolschema.Annotations{Opaque: []string{"blob"}, Destinations: []string{"blob.to"}}, "to"},
		{"writes nothing", `{"to": "locked"}`, toolschema.Annotations{Templates: &empty}, ""},
		{"writes nothing but", `{"to": "locked"}`, toolschema.Annotations{Templates: &empty, Destinations: []string{"to"}}, "to"},
		{"template", `{"dir": "locked"}`, toolschema.Annotations{Templates: &suffixed}, "{dir}/a"},
		{"template of root", `"locked"`, toolschema.Annotations{Templates: &suffixed}, "{<input>}"},
		{"template elsewhere", `{"dir": "free"}`, toolschema.Annotations{Templates: &suffixed}, ""},
	} {
		got := checker().Input(tc.input, tc.a)
		if (got == nil) != (tc.via == "") || got != nil && got.Via != tc.via {
			t.Errorf("%s: %+v, want %q", tc.name, got, tc.via)
		}
	}
}

// CON-254
func TestNothingProtected(t *testing.T) {
	c := New("/w", []string{" "}, func(p string) string { t.Error("asked"); return p })
	if !c.Idle() || c.Body("rm -rf /") != nil || c.Direct("rm", []string{"x"}) != nil || c.Input(`{"to":"x"}`, toolschema.Annotations{}) != nil {
		t.Error("something is protected")
	}
}

func FuzzBody(f *testing.F) {
	for _, s := range []string{"echo x > locked/a", "a <<E\nE\n", "'\"\\", "((({{{", "2>&1 &>> x", "cat <<-X"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, body string) { checker().Body(body) })
}
