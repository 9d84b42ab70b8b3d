package guest

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// WIT-46, WIT-57
func TestServe(t *testing.T) {
	var out bytes.Buffer
	err := serve(strings.NewReader(`{"data":"{\"n\":3}","log_path":null,"later":1}`), &out, func(in Input) Result {
		var v struct{ N int }
		if err := in.Decode(&v); err != nil || v.N != 3 || in.LogPath != nil {
			t.Errorf("got %+v, %v", in, err)
		}
		r := Passed(in.Text())
		r.Metadata = [][2]string{{"k", "v"}}
		return r
	})
	if err != nil || out.String() != `{"status":"passed","data":"{\"n\":3}","metadata":[["k","v"]]}`+"\n" {
		t.Errorf("%q, %v", &out, err)
	}
	out.Reset()
	if err := serve(strings.NewReader(`{"data":null}`), &out, func(in Input) Result { return Failed("no %q", in.Text()) }); err != nil ||
		out.String() != `{"status":"failed","summary":"no \"\""}`+"\n" {
		t.Errorf("%q, %v", &out, err)
	}
	if err := serve(strings.NewReader("x"), &out, nil); err == nil {
		t.Error("text was taken for an input")
	}
	if err := (Input{}).Decode(new(int)); err == nil {
		t.Error("no data was decoded")
	}
}

// On the host nothing is behind the functions, and each says so.
func TestHost(t *testing.T) {
	_, invoke := InvokeText("echo", "x")
	_, list := Artifacts()
	_, info := Describe("a/b")
	_, state := Diagnostics()
	_, sent := Send("http://peer/", Message{})
	_, answer := RequestInput("?")
	for name, err := range map[string]error{"invoke": invoke, "list": list, "describe": info, "diagnostics": state, "send": sent,
		"ask": answer, "text": EmitText("x"), "thinking": EmitThinking("x")} {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
