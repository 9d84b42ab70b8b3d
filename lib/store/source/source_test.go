package source

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
)

// fake has versions of everything, or an error for every question.
type fake struct {
	name, scope string
	versions    []string
	err         error
	asked       int
}

func (f *fake) Label() string   { return f.name }
func (f *fake) Address() string { return "at " + f.name }
func (f *fake) Scope() string   { return f.scope }

func (f *fake) Newest(context.Context, names.Full, string) (string, error) {
	f.asked++
	if f.err != nil || len(f.versions) == 0 {
		return "", f.err
	}
	return f.versions[len(f.versions)-1], nil
}

func (f *fake) Fetch(_ context.Context, w Want, _ Progress) (Got, error) {
	f.asked++
	if f.err != nil {
		return Got{}, f.err
	}
	for _, v := range f.versions {
		if v == w.Version {
			return Got{Scope: f.scope, Version: v, From: f.name}, nil
		}
	}
	return Got{}, &AbsentError{"not here"}
}

func chainOf(fs ...*fake) Chain {
	var c Chain
	for _, f := range fs {
		c = append(c, f)
	}
	return c
}

// ART-59, ART-62, ART-141, DIA-70, DIA-75: who is asked, in which order, and what it amounts to.
func TestFetch(t *testing.T) {
	down := errors.New("rate limit until noon")
	damaged := diag.Errorf("E-REG-002", "not the bytes")
	for name, c := range map[string]struct {
		chain   Chain
		version string
		from    string
		code    diag.Code
		says    []string
	}{
		"the first":               {chainOf(&fake{name: "a", scope: "ana", versions: []string{"1"}}, &fake{name: "b", scope: "ana", versions: []string{"1"}}), "1", "a", "", nil},
		"the next":                {chainOf(&fake{name: "a", scope: "ana"}, &fake{name: "b", scope: "ana", versions: []string{"1"}}), "1", "b", "", nil},
		"past one that is silent": {chainOf(&fake{name: "a", scope: "ana", err: down}, &fake{name: "b", scope: "ana", versions: []string{"1"}}), "1", "b", "", nil},
		"not past damage":         {chainOf(&fake{name: "a", scope: "ana", err: damaged}, &fake{name: "b", scope: "ana", versions: []string{"1"}}), "1", "", "E-REG-002", nil},
		"of another scope":        {chainOf(&fake{name: "a", scope: "eve", versions: []string{"1"}}), "1", "", "E-REG-001", []string{"no source has ana/x@1"}},
		"none":                    {chainOf(&fake{name: "a", scope: "ana"}, &fake{name: "b", scope: "ana"}), "1", "", "E-REG-001", []string{"ana/x@1", "\na (at a): not here\nb (at b): not here"}},
		"none, and one is silent": {chainOf(&fake{name: "a", scope: "ana"}, &fake{name: "b", scope: "ana", err: down}), "1", "", "E-REG-006", []string{"ana/x@1", "\na (at a): not here\nb (at b): rate limit until noon"}},
		"a misconfigured one":     {Chain{Broken{Name: "a", Where: "x", Reason: errors.New("it is misconfigured")}}, "1", "", "E-REG-006", []string{"a (x): it is misconfigured"}},
		"the newest of all":       {chainOf(&fake{name: "a", scope: "ana", versions: []string{"1.9"}}, &fake{name: "b", scope: "ana", versions: []string{"1.10"}}), "", "b", "", nil},
		"an unknown newest":       {chainOf(&fake{name: "a", scope: "ana", versions: []string{"1"}}, &fake{name: "b", scope: "ana", err: down}), "", "", "E-REG-006", []string{"b (at b)"}},
		"no newest":               {chainOf(&fake{name: "a", scope: "ana"}), "", "", "E-REG-001", []string{"it has no version"}},
	} {
		got, err := c.chain.Fetch(context.Background(), Want{Name: names.Full{Scope: "ana", Name: "x"}, Version: c.version}, nil)
		if got.From != c.from || diag.CodeOf(err) != c.code {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for _, s := range c.says {
			if err == nil || !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	// Nobody owns local, so nobody is asked for it.
	if c := (Chain{Broken{Name: "a"}}).For(names.Local); len(c) != 0 {
		t.Error("a misconfigured source was asked for local")
	}
}

func TestFetchCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := &fake{name: "a", scope: "ana", err: errors.New("x")}
	b := &fake{name: "b", scope: "ana", versions: []string{"1"}}
	_, err := chainOf(a, b).Fetch(ctx, Want{Name: names.Full{Scope: "ana", Name: "x"}, Version: "1"}, nil)
	if !errors.Is(err, context.Canceled) || b.asked != 0 {
		t.Errorf("%v, %d", err, b.asked)
	}
}

// ART-60
func TestToken(t *testing.T) {
	env := []string{"TOKEN=old", "TOKEN=new", "EMPTY="}
	for in, want := range map[string]string{"${TOKEN}": "new", "${NONE}": "", "TOKEN": "new", "EMPTY": "EMPTY", "ghp_literal": "ghp_literal", "${": "${"} {
		if got := Token(in, env); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// ART-63
func TestCheckInner(t *testing.T) {
	w := Want{Name: names.Full{Scope: "ana", Name: "x"}, Version: "1"}
	if err := CheckInner(w, "2", "there"); diag.CodeOf(err) != "E-IO-003" || !strings.Contains(err.Error(), `ana/x@1 was asked for`) || !strings.Contains(err.Error(), `"2"`) {
		t.Errorf("%v", err)
	}
	if CheckInner(w, "1", "") != nil || CheckInner(Want{Name: w.Name}, "2", "") != nil {
		t.Error("refused")
	}
}

type slow struct{ ctx context.Context }

func (s slow) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// ART-66: downloads end: at their limit, and when nothing comes in.
func TestReadAll(t *testing.T) {
	read := func(body io.Reader, total, limit int64) ([]byte, error) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		if s, ok := body.(*slow); ok {
			s.ctx = ctx
		}
		return ReadAll(ctx, io.NopCloser(body), cancel, "x", total, limit, 20*time.Millisecond, nil)
	}
	if data, err := read(strings.NewReader("hello"), 5, 5); err != nil || string(data) != "hello" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := read(strings.NewReader("hello"), 6, 5); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a promise over the limit: %v", err)
	}
	if _, err := read(strings.NewReader("hello!"), -1, 5); !errors.Is(err, ErrTooLarge) {
		t.Errorf("more than the limit: %v", err)
	}
	if _, err := read(&slow{}, -1, 5); !errors.Is(err, ErrStalled) {
		t.Errorf("a stall: %v", err)
	}
}
