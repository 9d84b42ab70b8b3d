package wasi

import (
	"encoding/binary"
	"io"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// randomInterfaces serve wasi:random; the insecure ones are as good as the
// secure one.
func randomInterfaces() []wasmtime.Interface {
	number := func(c *call) (uint64, error) {
		var b [8]byte
		_, err := io.ReadFull(instance(c).cfg.Rand, b[:])
		return binary.LittleEndian.Uint64(b[:]), err
	}
	some := func(c *call, a []val) (val, error) {
		n := a[0].(uint64)
		if n > maxRandom {
			return nil, trapf("%d random bytes at once; at most %d are served", n, maxRandom)
		}
		b := make([]byte, n)
		_, err := io.ReadFull(instance(c).cfg.Rand, b)
		return b, err
	}
	one := func(c *call, a []val) (val, error) { return number(c) }
	return []wasmtime.Interface{
		{Name: "random/random", Funcs: funcs{"get-random-bytes": some, "get-random-u64": one}},
		{Name: "random/insecure", Funcs: funcs{"get-insecure-random-bytes": some, "get-insecure-random-u64": one}},
		{Name: "random/insecure-seed", Funcs: funcs{"insecure-seed": func(c *call, a []val) (val, error) {
			x, err := number(c)
			if err != nil {
				return nil, err
			}
			y, err := number(c)
			return tuple{x, y}, err
		}}},
	}
}
