package wasi

import (
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// epoch is where the monotonic clock of every guest starts.
var epoch = time.Now()

// nanoseconds reads a u64 duration; what Go can not hold means "never", some
// 146 years.
func nanoseconds(v val) time.Duration { return time.Duration(min(v.(uint64), 1<<62)) }

// datetime is the record of wasi:clocks. A time before 1970 becomes 1970: the
// record has no sign.
func datetime(t time.Time) record {
	if t.Unix() < 0 {
		t = time.Unix(0, 0)
	}
	return record{{Name: "seconds", V: uint64(t.Unix())}, {Name: "nanoseconds", V: uint32(t.Nanosecond())}}
}

func clockInterfaces() []wasmtime.Interface {
	at := func(c *call, t time.Time) (val, error) { return c.Own(typePollable, &alarm{at: t}), nil }
	return []wasmtime.Interface{
		{Name: "clocks/monotonic-clock", Funcs: funcs{
			"now":                func(c *call, a []val) (val, error) { return uint64(time.Since(epoch)), nil },
			"resolution":         func(c *call, a []val) (val, error) { return uint64(1), nil },
			"subscribe-instant":  func(c *call, a []val) (val, error) { return at(c, epoch.Add(nanoseconds(a[0]))) },
			"subscribe-duration": func(c *call, a []val) (val, error) { return at(c, time.Now().Add(nanoseconds(a[0]))) },
		}},
		{Name: "clocks/wall-clock", Funcs: funcs{
			"now":        func(c *call, a []val) (val, error) { return datetime(instance(c).cfg.Now()), nil },
			"resolution": func(c *call, a []val) (val, error) { return datetime(time.Unix(0, 1)), nil },
		}},
	}
}
