package onwazero

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/runner"
	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
)

// instance is a runner.Instance.
type instance struct {
	p      *program
	host   any
	limits wasmhost.Limits
	memory *linearMemory
	mod    api.Module
}

// New prepares an instance (see runner.Program).
func (p *program) New(limits wasmhost.Limits, host any) (runner.Instance, error) {
	m, err := newLinearMemory(limits.MemoryBytes)
	if err != nil {
		return nil, err
	}
	return &instance{p: p, host: host, limits: limits, memory: m}, nil
}

func (in *instance) Start(ctx context.Context) error {
	if err := in.checkLimits(); err != nil {
		return err
	}
	config := wazero.NewModuleConfig().
		WithName(""). // any number of instances at a time
		WithStartFunctions()
	var err error
	in.mod, err = in.p.runtime.InstantiateModule(experimental.WithMemoryAllocator(in.in(ctx), in.memory), in.p.compiled, config)
	if err == nil {
		boundTables(in.mod, in.limits.TableElements)
	}
	return ended(ctx, err)
}

func (in *instance) Call(ctx context.Context, name string) (uint64, error) {
	out, err := in.mod.ExportedFunction(name).Call(in.in(ctx))
	if err != nil || len(out) == 0 {
		return 0, ended(ctx, err)
	}
	return out[0], nil
}

func (in *instance) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, hostKey{}, in)
}

func (in *instance) Refused() bool { return in.memory.refused }

func (in *instance) Close() {
	if in.mod != nil {
		_ = in.mod.Close(context.Background()) // closing does not wait
	}
	in.memory.release()
}

// checkLimits refuses a module that starts beyond its limits; wazero has no
// answer for that but a panic.
func (in *instance) checkLimits() error {
	for _, m := range in.p.module.Memories {
		if m.Min > in.memory.limit/sections.PageSize {
			in.memory.refused = true
			return &wasmhost.Fault{Cause: wasmhost.LimitReached, Limit: runner.Memory}
		}
	}
	for _, t := range in.p.module.Tables {
		if t.Min > uint64(in.limits.TableElements) {
			return &wasmhost.Fault{Cause: wasmhost.LimitReached, Limit: runner.Table}
		}
	}
	return nil
}

// boundTables lowers the maximum of each table to limit. wazero has no setting
// for that, but its instance has the maximum as exported fields of types it
// does not name; a test fails when they are no longer there.
func boundTables(mod api.Module, limit uint32) {
	tables := reflect.ValueOf(mod).Elem().FieldByName("Tables")
	for i := range tables.Len() {
		field := tables.Index(i).Elem().FieldByName("Max")
		if field.IsNil() || field.Elem().Uint() > uint64(limit) {
			field.Set(reflect.ValueOf(&limit))
		}
	}
}

// ended says what an error of wazero is (see runner.Instance).
func ended(ctx context.Context, err error) error {
	var ee *sys.ExitError
	var re runtime.Error
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &ee):
		return err
	case errors.As(err, &re): // a panic in wazero's own functions
		return &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: re}
	}
	// The line that names the trap, without the guest's stack.
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimPrefix(line, "wasm error: ")
	return &wasmhost.Fault{Cause: wasmhost.Trapped, Err: fmt.Errorf("%s", line)}
}
