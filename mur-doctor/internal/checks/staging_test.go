package checks

import (
	"reflect"
	"testing"
)

// What mur-stage says becomes rows, whatever else stands in its lines: fields this
// program does not know, of any shape, and lines that are none. DIA-22, DIA-36, DIA-208
func TestStagingRows(t *testing.T) {
	const lines = `{"level":"warning","code":"W-SEC-024","message":"a name","hints":["x","y"],"names":{"a":1},"later":{"deep":[1]}}
{"level":"error","code":"E-CAP-005","message":"of the host","severity":3,"hints":[],"level_of_detail":null}
not a line of JSON

{"level":"error","code":"E-MAN-003","message":"of the project","hints":["repair it"]}
{"level":"notice","code":null,"message":""}
`
	want := []Check{
		{Name: "posture", Status: Warning, Code: "W-SEC-024", Message: "a name", Remedy: "x; y"},
		{Name: "staging", Status: Warning, Code: "E-CAP-005", Message: "of the host"},
		{Name: "staging", Status: Failed, Code: "E-MAN-003", Message: "of the project", Remedy: "repair it"},
	}
	if got := stagingRows([]byte(lines)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := stagingRows(nil); len(got) != 1 || got[0].Status != OK || got[0].Name != "staging" {
		t.Errorf("of nothing: %+v", got)
	}
}
