package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/wasip1"
)

// stateDir is the guest name of the store (WIT-31).
const stateDir = "state"

// wasiConfig is what WASI shows the guest (WIT-58, WIT-59, WIT-62).
func wasiConfig(in *wasmhost.Instance, op string, std stdio) wasip1.Config {
	config := wasip1.Config{Args: []string{in.Name, op}, Stdin: std.in, Stdout: std.out, Stderr: std.err}
	for _, kv := range in.Env {
		if name, _, ok := strings.Cut(kv, "="); ok && name != "" && name != "PWD" && !strings.ContainsRune(kv, 0) {
			config.Env = append(config.Env, kv)
		}
	}
	config.Env = append(config.Env, "PWD=/")

	hasState := slices.ContainsFunc(in.Dirs, func(d wasmhost.Dir) bool { return d.Guest == stateDir })
	for _, d := range in.Dirs {
		// The slash at the end is for Go's library, to which "/state" would be the
		// beginning of "/statement".
		dir := wasip1.Dir{Guest: "/" + d.Guest + "/", Root: d.Root}
		if d.Guest == "." {
			dir.Guest = "/"
			if hasState {
				dir.Hidden = stateDir
			}
		}
		config.Dirs = append(config.Dirs, dir)
	}
	return config
}

// wasiFunc serves a function of WASI, and notes how it ends the guest.
func wasiFunc(f wasip1.Func) func(any, []byte, []uint64) bool {
	return guarded(func(c *call, mem memory, words []uint64) (end bool) {
		err := f.Call(c.wasi, mem, words)
		if err == nil {
			return false
		}
		var exit *wasip1.Exit
		var signal *wasip1.Signal
		switch {
		case errors.As(err, &exit):
			c.exited, c.status = true, exit.Status
		case errors.As(err, &signal):
			c.end(&wasmhost.Fault{Cause: wasmhost.Trapped, Err: fmt.Errorf("the guest raised signal %d", signal.Number)})
		}
		return true
	})
}
