package query

import (
	"slices"
	"testing"

	"github.com/itchyny/gojq"
)

// What an expression's text shows of the events it wants, and that it never
// changes an answer.
func TestOnlyTypes(t *testing.T) {
	traces, _ := files(t, 6)
	for expression, want := range map[string][]string{
		`select(.event_type == "x")`:                                                 {"x"},
		`select("x" == .event_type) | .line`:                                         {"x"},
		`select(.event_type == "x" or .event_type == "session_start") | .n // .file`: {"x", "session_start"},
		`select((.event_type == "x") and .line > 3) | .line`:                         {"x"},
		`select(.event_type == "none")`:                                              {"none"},
		`select(.line > 3 and .event_type == "x")`:                                   nil,
		`select(.event_type == "x" or .line > 3)`:                                    nil,
		`select(.event_type == "x") , .line`:                                         nil,
		`select(.event_type != "x")`:                                                 nil,
		`select(.event_type == "x" | not)`:                                           nil,
		`select(.event_type == "\("x")")`:                                            nil,
		`def select(f): .n; select(.event_type == "x")`:                              nil,
		`.event_type as $t | select(.event_type == "x")`:                             nil,
		`select(.event_type.x == "x")?`:                                              nil,
		`[select(.event_type == "x")] | length`:                                      nil,
		`. | select(.event_type == "x")`:                                             nil,
		`try select(.event_type == "x") catch 1`:                                     nil,
		`select(.event_type == "x")?`:                                                nil,
		`select(.event_type == ("x", "y"))`:                                          nil,
		`reduce select(.event_type == "x") as $e (0; . + 1)`:                         nil,
	} {
		q, err := gojq.Parse(expression)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		if got := onlyTypes(q); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
		fast, fastErr, a, err1 := filter(t, expression, traces, Prefilter{})
		x, err := Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		x.types = nil
		slow, slowErr, b, err2 := run(x, traces)
		if fast != slow || fastErr != slowErr || a != b || (err1 == nil) != (err2 == nil) {
			t.Errorf("%s: another answer", expression)
		}
	}
}
