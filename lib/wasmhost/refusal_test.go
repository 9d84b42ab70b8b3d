package wasmhost

import (
	"errors"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// WIT-2, WIT-4, WIT-5, ART-114, MAN-190, DIA-107, DIA-194
func TestRefusalCodes(t *testing.T) {
	for _, tc := range []struct {
		kind Kind
		err  *LoadError
		want diag.Code
	}{
		{Tool, &LoadError{Reason: BadFormat}, "E-RUN-001"},
		{Tool, &LoadError{Reason: NoCompile, Err: errors.New("x")}, "E-RUN-001"},
		{Tool, &LoadError{Reason: BadExport, Name: Export(Tool)}, "E-RUN-001"},
		{Tool, &LoadError{Reason: BadVersion, Name: "murmur:tool/run@0.2.0", Served: Export(Tool)}, "E-RUN-001"},
		{Tool, &LoadError{Reason: BadVersion, Name: "murmur:text/chunks@9.0.0", Served: "murmur:text/chunks@0.1.0"}, "E-RUN-002"},
		{Tool, &LoadError{Reason: BadImport, Name: "wasi:sockets/tcp@0.2.0"}, "E-RUN-002"},
		{Driver, &LoadError{Reason: BadImport, Name: "x:y/z"}, "E-RUN-029"},
		{Driver, &LoadError{Reason: BadVersion, Name: "murmur:tool/run@0.2.0", Served: Export(Driver)}, "E-RUN-029"},
		{Capsule, &LoadError{Reason: NoEngine}, "E-RUN-105"},
	} {
		err := Refusal("ana/x@1.0.0", tc.kind, tc.err)
		if diag.CodeOf(err) != tc.want || !strings.Contains(err.Error(), "ana/x@1.0.0") || !errors.Is(err, tc.err) {
			t.Errorf("%s %+v: %s %v, want %s", tc.kind, tc.err, diag.CodeOf(err), err, tc.want)
		}
		if tc.err.Served != "" && (!strings.Contains(err.Error(), tc.err.Name) || !strings.Contains(err.Error(), tc.err.Served)) {
			t.Errorf("%v does not name %s and %s", err, tc.err.Name, tc.err.Served)
		}
	}
	// An engine that does not start is no engine missing: the reason says what to do.
	err := Refusal("x", Tool, &LoadError{Reason: NoEngine, Err: errors.New("raise the stack limit")})
	if s := err.Error(); diag.CodeOf(err) != "E-RUN-105" || strings.Contains(s, "cgo") || strings.Contains(s, "component") || !strings.Contains(s, "raise the stack limit") {
		t.Errorf("an engine that does not start: %s", s)
	}
	other := errors.New("other")
	if Refusal("x", Tool, other) != other {
		t.Error("another error was changed")
	}
}
