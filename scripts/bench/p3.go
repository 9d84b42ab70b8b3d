package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime/bare"
)

// callOverhead is P3: an instance of a C tool and one call through our host and
// our WASI, against the bare C API with the library's WASI, in turns.
func callOverhead(ctx context.Context, w *workshop) ([]Row, error) {
	wasm, err := os.ReadFile(filepath.Join(w.root, "lib/wasmhost/component/testdata/ctool/ctool.wasm"))
	if err != nil {
		return nil, err
	}
	e, err := component.New()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	g, err := e.Compile(ctx, wasm, wasmhost.Tool)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	l, err := bare.New(wasm)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	hello := "hello"
	const batch = 20
	var host, loop sample
	for range 200 {
		ms, err := median(1, func() error {
			for range batch {
				if _, err := g.RunTool(ctx, &wasmhost.Instance{Name: "t"}, wasmhost.ToolInput{Data: &hello}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		host = append(host, ms*1000/batch)
		ns, err := l.Call(batch)
		if err != nil {
			return nil, err
		}
		loop = append(loop, ns/1000)
	}
	peer, r := ratio(host.median(), loop.median())
	return []Row{{ID: "P3", What: "instantiate and call a C tool", Value: host.median(), Unit: "µs", Peer: "bare C API, its own WASI", PeerValue: peer, Ratio: r, Goal: "ratio at most 1.3", OK: judged(*r <= 1.3)}}, nil
}
