package core

import (
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/onwazero"
	"github.com/mur-capsules/mur/lib/wasmhost/core/runner"
)

// New makes an engine.
func New() (*Engine, error) {
	return NewOn(func(funcs []runner.Func) (runner.Engine, error) {
		return onwazero.New(funcs, onwazero.WASI{Define: instantiateWASI, Config: moduleConfig})
	})
}

// Info identifies the engine New makes, without making one.
func Info() wasmhost.EngineInfo { return onwazero.Info() }
