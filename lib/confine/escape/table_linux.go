package escape

import (
	"strings"

	"github.com/mur-capsules/mur/lib/policy"
)

// Row is one probe of the table.
type Row struct {
	ID   string // CON-P1
	What string
	Kind Kind
	// Terms are the grants it runs under; "" for the plainest.
	Terms Terms
	Tries []Try
	// special replaces Tries where the outcome is judged from outside as well.
	special func(s *session) []Finding
}

// Try is one attempt of a row and the answers each class owes for it:
// alternatives separated by "|", a trailing * standing for any rest. An empty
// string promises nothing, and nothing is tried.
type Try struct {
	// Do is an operation of package attempt and its arguments. $NAME is a fact of
	// the suite, #name the number of a system call.
	Do []string
	// Advisory, Scoped and Sealed are the answers owed.
	Advisory, Scoped, Sealed string
	// Gap is a word of filesystem_boundary.not_protected: where the scope report
	// lists it, scoped promises nothing here (CON-58).
	Gap string
	// Control is tried as well and must be "ok"; nil takes the one of the operation.
	Control []string
}

func (t Try) owed(c policy.Class) string {
	switch c {
	case policy.Advisory:
		return t.Advisory
	case policy.Scoped:
		return t.Scoped
	case policy.Sealed:
		return t.Sealed
	default:
		return ""
	}
}

// matches tells whether an answer is one of the owed alternatives.
func matches(owed, answer string) bool {
	for _, o := range strings.Split(owed, "|") {
		if prefix, open := strings.CutSuffix(o, "*"); o == answer || open && strings.HasPrefix(answer, prefix) {
			return true
		}
	}
	return false
}

// Terms name a set of grants.
type Terms string

// The terms rows run under.
const (
	plain    Terms = ""
	listed   Terms = "network"
	crowded  Terms = "twenty ports"
	sockets  Terms = "unix sockets"
	lent     Terms = "lent folders"
	runnable Terms = "workdir_exec"
)

// refused is a try that the three classes answer alike or not at all.
func refused(owed string, do ...string) Try { return Try{Do: do, Scoped: owed, Sealed: owed} }

// in is a try with one answer for scoped and one for sealed.
func in(scoped, sealed string, do ...string) Try { return Try{Do: do, Scoped: scoped, Sealed: sealed} }

// always is a try with one answer in every class.
func always(owed string, do ...string) Try {
	return Try{Do: do, Advisory: owed, Scoped: owed, Sealed: owed}
}

// Rows are all probes that can be tried through mur-shell run, in the order of
// the specification.
func Rows() []Row {
	var out []Row
	for _, part := range [][]Row{fileRows(), linkRows(), processRows(), descriptorRows(), deviceRows(), execRows(), networkRows(), socketRows(), callRows(), resourceRows(), settingRows()} {
		out = append(out, part...)
	}
	return out
}
