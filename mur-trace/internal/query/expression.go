// Package query runs jq expressions over the events of traces (TRC-171 to
// TRC-174). It is the one place that knows the jq engine.
package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/trace"
)

// Expression is a compiled filter. It may be run by several goroutines.
type Expression struct {
	code     *gojq.Code
	identity bool     // it is "."
	types    []string // the only events it can say something of; nil means any
}

// denied are the functions an expression can not have: a filter sees the trace
// and nothing else, and gives the same answer in every place (TRC-174).
var denied = map[string]string{
	"input": "input", "inputs": "input", "input_filename": "input", "input_line_number": "input",
	"env": "environment", "$ENV": "environment",
	"get_search_list": "module", "modulemeta": "module",
	"localtime": "time-zone", "strflocaltime": "time-zone",
}

// Compile reads an expression. The error is E-TRC-102.
func Compile(text string) (*Expression, error) {
	q, err := gojq.Parse(text)
	if err != nil {
		var pe *gojq.ParseError
		offset := len(text)
		if errors.As(err, &pe) {
			offset = max(0, pe.Offset-len(pe.Token))
		}
		return nil, badExpression(offset, err.Error())
	}
	if what, kind := refused(q); what != "" {
		return nil, badExpression(max(0, strings.Index(text, what)), fmt.Sprintf("%s is one of the %s functions, which a filter does not have", what, kind))
	}
	code, err := gojq.Compile(q, gojq.WithVariables([]string{"$session", "$index"}))
	if err != nil {
		return nil, badExpression(0, err.Error())
	}
	return &Expression{code, strings.TrimSpace(text) == ".", onlyTypes(q)}, nil
}

// wants reports whether an event can make the expression say something.
func (x *Expression) wants(l *trace.Line) bool {
	return x.types == nil || slices.Contains(x.types, string(l.Type()))
}

func badExpression(offset int, reason string) error {
	return diag.Errorf("E-TRC-102", "the expression can not be read: %s (at character %d)", reason, offset+1).
		Hint("the language is jq's; put the expression in single quotes").
		Name("position", offset+1).Name("reason", reason)
}

// refused looks for a denied function in an expression.
func refused(q *gojq.Query) (name, kind string) {
	if len(q.Imports) > 0 || q.Meta != nil {
		return "import", "module"
	}
	walk(reflect.ValueOf(q), func(f *gojq.Func) {
		if k := denied[f.Name]; k != "" && name == "" {
			name, kind = f.Name, k
		}
	})
	return name, kind
}

var funcType = reflect.TypeFor[*gojq.Func]()

func walk(v reflect.Value, visit func(*gojq.Func)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Type() == funcType {
			visit(v.Interface().(*gojq.Func))
		}
		walk(v.Elem(), visit)
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	}
}

// Result is one value an expression gave.
type Result struct {
	value any
	same  []byte // set when the value is the input itself
}

// Truthy reports whether the value is neither null nor false.
func (r Result) Truthy() bool { return r.value != nil && r.value != false }

// Append appends the value as compact JSON; with raw a string as its text. An
// event that an expression passes on unchanged keeps its very bytes, key order
// and number forms included.
func (r Result) Append(dst []byte, raw bool) ([]byte, error) {
	if r.same != nil {
		return append(dst, r.same...), nil
	}
	if s, ok := r.value.(string); ok && raw {
		return append(dst, s...), nil
	}
	text, err := gojq.Marshal(r.value)
	return append(dst, text...), err
}

// Run runs the expression on one input whose compact text is line, and calls
// yield with each result until it returns false. The error is the first one of
// the run; a halt is an *Halt.
func (x *Expression) Run(ctx context.Context, input any, line []byte, session any, index int, yield func(Result) bool) error {
	it := x.code.RunWithContext(ctx, input, session, index)
	for {
		v, ok := it.Next()
		if !ok {
			return nil
		}
		if err, isErr := v.(error); isErr {
			var halt *gojq.HaltError
			if errors.As(err, &halt) {
				return &Halt{Status: halt.ExitCode(), Value: halt.Value()}
			}
			return err
		}
		r := Result{value: v}
		if line != nil && sameObject(v, input) {
			r.same = line
		}
		if !yield(r) {
			return nil
		}
	}
}

// Halt is an expression that ended the whole filter.
type Halt struct {
	Status int
	Value  any // what halt_error was given, nil for halt
}

func (h *Halt) Error() string {
	if s, ok := h.Value.(string); ok {
		return strings.TrimSuffix(s, "\n")
	}
	text, err := gojq.Marshal(h.Value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// sameObject reports whether two values are one object. The engine never
// changes a value in place, so the same map has the same content.
func sameObject(a, b any) bool {
	ma, ok := a.(map[string]any)
	mb, ok2 := b.(map[string]any)
	return ok && ok2 && reflect.ValueOf(ma).Pointer() == reflect.ValueOf(mb).Pointer()
}

// compact is text without white space between its tokens; text itself when it
// has none.
func compact(text []byte) []byte {
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = trace.StringEnd(text, i)
			if i < 0 {
				return text
			}
		case ' ', '\t', '\r', '\n':
			var b bytes.Buffer
			if json.Compact(&b, text) != nil {
				return text
			}
			return b.Bytes()
		default:
			i++
		}
	}
	return text
}
