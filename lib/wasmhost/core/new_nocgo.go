//go:build !cgo

package core

import (
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core/onwazero"
)

// New makes an engine: wasmtime in a build with cgo, wazero in one without
// (WIT-68).
func New() (*Engine, error) { return NewOn(onwazero.New) }

// Info identifies the engine New makes, without making one.
func Info() wasmhost.EngineInfo { return onwazero.Info() }
