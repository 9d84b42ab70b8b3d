package artifact

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// ART-221: what is let into a store was read through, and what is wrong is named.
func TestExamine(t *testing.T) {
	untouched(t)
	ctx := context.Background()
	m := item{name: "murmur.yaml", data: manifestText}
	zeros := strings.Repeat("\x00", 1<<20)
	small := Limits{EntryBytes: 600000} // so that an archive may have 1200000
	for name, c := range map[string]struct {
		items  []item
		limits Limits
		says   string
	}{
		"sound":              {[]item{m, {name: "a/b", data: "x"}, {name: "d/"}, {name: "c", data: zeros}}, defaults, ""},
		"traversal":          {[]item{m, {name: "../up", data: "x"}}, defaults, `entry "../up" is unsafe: it has a .. component`},
		"traversal inside":   {[]item{m, {name: "a/../../up", data: "x"}}, defaults, "is unsafe"},
		"with backslashes":   {[]item{m, {name: `a\..\..\up`, data: "x"}}, defaults, "is unsafe"},
		"a directory above":  {[]item{m, {name: "../up/"}}, defaults, "is unsafe"},
		"absolute":           {[]item{m, {name: "/etc/x", data: "x"}}, defaults, `entry "/etc/x" is unsafe: it is absolute`},
		"drive":              {[]item{m, {name: `C:\x`, data: "x"}}, defaults, "drive prefix"},
		"twins":              {[]item{m, {name: "A.txt"}, {name: "a.TXT"}}, defaults, `entries "A.txt" and "a.TXT" differ in case alone`},
		"a second manifest":  {[]item{m, {name: "Murmur.yaml"}}, defaults, "differ in case alone"},
		"twins beyond ASCII": {[]item{m, {name: "\u00c4"}, {name: "\u00e4"}}, defaults, "differ in case alone"},
		"bomb":               {[]item{m, {name: "b", data: zeros}}, small, `entry "b" is larger than the ceiling of 600000 bytes`},
		"many small bombs":   {[]item{m, {name: "a", data: zeros[:599999]}, {name: "b", data: zeros[:599999]}, {name: "c", data: zeros[:9]}}, small, "together"},
		"says small":         {[]item{m, {name: "b", data: zeros, size: 5}}, defaults, `entry "b" has more bytes than the 5 it declares`},
		"says small, stored": {[]item{m, {name: "b", data: zeros, size: 5, store: true}}, defaults, "more bytes than the 5"},
		"says large":         {[]item{m, {name: "b", data: "x", size: 500}}, defaults, "has 1 bytes and declares 500"},
		"wrong checksum":     {[]item{m, {name: "b", data: "x", crc: 7}}, defaults, "checksum"},
		"no deflate stream":  {[]item{m, {name: "b", data: "\xff\xff\xff", store: true, method: methodDeflate}}, defaults, "damaged"},
	} {
		a, err := Open(build(c.items...), c.limits)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := a.Examine(ctx); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if err := mustOpen(t, build(m)).Examine(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("of nobody's interest any more: %v", err)
	}
}

// A manifest is not decompressed beyond what one may have, whatever it declares.
func TestEndlessManifest(t *testing.T) {
	for _, size := range []int64{0, 100} { // 0: as it is
		a := mustOpen(t, build(item{name: "murmur.yaml", data: strings.Repeat("#", 8<<20), size: size}))
		if _, err := a.Manifest(); err == nil || !strings.Contains(err.Error(), "is larger than the 1048576 bytes a manifest may have") {
			t.Errorf("%v", err)
		}
	}
}
