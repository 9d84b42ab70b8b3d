package grants

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/confine/closure"
	"github.com/mur-capsules/mur/lib/policy"
)

// maxDirs bounds the directories of one interpreter (CON-86).
const maxDirs = 32

// interpreter is a program that can say where its modules are.
type interpreter struct {
	name func() *regexp.Regexp // of the program's file
	args []string              // make it print one path a line, in its isolated mode
	// objects says that modules are shared objects as well, whose libraries are
	// needed too.
	objects bool
}

var interpreters = []interpreter{
	{pattern(`^python(\d+(\.\d+)*)?$`), []string{"-I", "-c", `import sys
for d in sys.path: print(d)
if sys.prefix not in ("/usr", "/usr/local"): print(sys.prefix)
if sys.base_prefix not in ("/usr", "/usr/local"): print(sys.base_prefix)`}, true},
	{pattern(`^(node|nodejs)$`), []string{"-e", `const m = require("module"), p = require("path");
for (const d of [...m.globalPaths, p.resolve(process.execPath, "../../lib/node_modules")]) console.log(d);
for (const f of ["/etc/ssl/openssl.cnf", "/usr/lib/ssl/openssl.cnf"]) console.log(f);`}, false},
	{pattern(`^perl(5(\.\d+)*)?$`), []string{"-e", `print "$_\n" for @INC`}, true},
	{pattern(`^ruby(\d+(\.\d+)*)?$`), []string{"-e", `puts $:; puts Gem.path if defined?(Gem)`}, true},
}

// derive asks an interpreter for its directories (CON-84 to CON-86). A program
// that is none, or does not answer, gets nothing.
func derive(ctx context.Context, r Request, h Host, p closure.Program) ([]policy.DerivedRuntime, *Fact) {
	program := p.Paths[0]
	i := slices.IndexFunc(interpreters, func(i interpreter) bool { return i.name().MatchString(filepath.Base(program)) })
	if i < 0 {
		return nil, nil
	}
	text, err := h.Ask(ctx, program, interpreters[i].args...)
	if err != nil {
		return nil, nil
	}
	var out []policy.DerivedRuntime
	add := func(path string) {
		d := policy.DerivedRuntime{Binary: p.Entry, Dir: path}
		if grantable(r, path) && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	dirs := 0
	for line := range strings.Lines(text) {
		real, dir, ok := h.Real(strings.TrimRight(line, "\r\n"))
		if !ok || dirs == maxDirs {
			continue
		}
		dirs++
		add(real)
		if dir && interpreters[i].objects {
			for _, lib := range h.Libraries(real) {
				add(lib)
			}
		}
	}
	return out, &Fact{Binary: p.Entry, Path: program, Source: "probe"}
}

// trustFiles and trustDirs are where distributions keep their certificates.
var (
	trustFiles = []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf",
	}
	trustDirs = []string{"/etc/ssl/certs", "/etc/pki/tls/certs", "/system/etc/security/cacerts"}
)

// trustStore finds the certificates of the host, and what their links lead to
// (CON-88). Directories end in a slash.
func trustStore(h Host) []string {
	out := []string{}
	add := func(path string) {
		real, dir, ok := h.Real(path)
		if !ok {
			return
		}
		if dir {
			real += "/"
		}
		if !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	for _, f := range trustFiles {
		add(f)
	}
	for _, d := range trustDirs {
		add(d)
		for _, target := range h.Targets(d) {
			// A bundle of a thousand certificates lies in few directories; a system
			// directory as a whole is more than certificates.
			if dir := filepath.Dir(target); strings.Contains(dir, "cert") || strings.Contains(dir, "pki") || strings.Contains(dir, "ssl") {
				add(dir)
			} else {
				add(target)
			}
		}
	}
	return out
}
