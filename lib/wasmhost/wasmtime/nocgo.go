//go:build !cgo

package wasmtime

import (
	"context"
	"os"
)

// Available tells whether this build has an engine: NewEngine can succeed.
const Available = false

// The types below exist so that packages over this one compile without cgo.
// None of their values can be made: NewEngine refuses.
type (
	Engine    struct{}
	Component struct{}
	Linker    struct{}
	Instance  struct{}
	Index     struct{}
	Export    struct{}

	Module         struct{}
	ModuleLinker   struct{}
	LinkedModule   struct{}
	ModuleInstance struct{}
	cstore         struct{}
)

func Settings() string                                      { return "none" }
func NewEngine() (*Engine, error)                           { return nil, ErrNoEngine }
func Wat(string) ([]byte, error)                            { return nil, ErrNoEngine }
func (*Engine) Close() error                                { return nil }
func (*Engine) Compile([]byte) (*Component, error)          { return nil, ErrNoEngine }
func (*Engine) Load(*os.File) (*Component, error)           { return nil, ErrNoEngine }
func (*Engine) NewLinker() *Linker                          { return &Linker{} }
func (*Engine) NewStore(StoreConfig) *Store                 { return &Store{} }
func (*Component) Serialize() ([]byte, error)               { return nil, ErrNoEngine }
func (*Component) Index(iface, name string) (*Index, error) { return nil, ErrNoEngine }
func (*Component) Imports() []string                        { return nil }
func (*Component) Exports() []string                        { return nil }
func (*Component) ImportFuncs(string) map[string]string     { return nil }
func (*Component) ExportFuncs(string) map[string]string     { return nil }
func (*Component) Close() error                             { return nil }
func (*Linker) Define(...Interface) error                   { return ErrNoEngine }
func (*Linker) Close() error                                { return nil }
func (*Instance) Func(*Index) (*Export, error)              { return nil, ErrNoEngine }
func (*Index) Close() error                                 { return nil }
func (*Store) Close() error                                 { return nil }
func (*Linker) Instantiate(context.Context, *Store, *Component) (*Instance, error) {
	return nil, ErrNoEngine
}
func (*Export) Call(context.Context, int, ...Val) ([]Val, error) { return nil, ErrNoEngine }

func (*Engine) CompileModule([]byte) (*Module, error)                     { return nil, ErrNoEngine }
func (*Engine) ValidateModule([]byte) error                               { return ErrNoEngine }
func (*Engine) LoadModule(*os.File) (*Module, error)                      { return nil, ErrNoEngine }
func (*Engine) NewModuleLinker() *ModuleLinker                            { return &ModuleLinker{} }
func (*Module) Serialize() ([]byte, error)                                { return nil, ErrNoEngine }
func (*Module) Exports() map[string]Signature                             { return nil }
func (*Module) Close() error                                              { return nil }
func (*ModuleLinker) Define(_, _ string, _ Signature, _ ModuleFunc) error { return ErrNoEngine }
func (*ModuleLinker) Link(*Module) (*LinkedModule, error)                 { return nil, ErrNoEngine }
func (*ModuleLinker) Close() error                                        { return nil }
func (*LinkedModule) Close() error                                        { return nil }
func (*LinkedModule) Instantiate(context.Context, *Store) (*ModuleInstance, error) {
	return nil, ErrNoEngine
}
func (*ModuleInstance) Call(context.Context, string) (uint64, error) { return 0, ErrNoEngine }
func (*Store) MemoryRefused() bool                                   { return false }
