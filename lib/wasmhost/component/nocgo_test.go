//go:build !cgo

package component

import (
	"errors"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// WIT-69
func TestNoEngine(t *testing.T) {
	_, err := New()
	var le *wasmhost.LoadError
	if !errors.As(err, &le) || le.Reason != wasmhost.NoEngine {
		t.Fatal(err)
	}
}
