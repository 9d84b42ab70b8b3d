package component

import (
	"errors"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component/wasi"
	wt "github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// data is what host functions find in the store of a call.
type data struct {
	in   *wasmhost.Instance
	wasi *wasi.Instance
}

// WASI makes data a wasi.Holder.
func (d *data) WASI() *wasi.Instance { return d.wasi }

func imports(c *wt.Call) *wasmhost.Imports { return &c.Data().(*data).in.Imports }

// errUnavailable is what a function answers outside its context (WIT-27).
var errUnavailable = errors.New("not available in this context")

// toolInterfaces are the Murmur imports of tools and drivers (WIT-25).
func toolInterfaces() []wt.Interface {
	chunk := func(kind wasmhost.ChunkKind) wt.Func {
		return func(c *wt.Call, a []wt.Val) (wt.Val, error) {
			if emit := imports(c).EmitChunk; emit != nil {
				emit(kind, a[0].(string))
			}
			return nil, nil
		}
	}
	return []wt.Interface{
		{Name: ifChunks, Funcs: map[string]wt.Func{
			"emit-chunk":          chunk(wasmhost.TextChunk),
			"emit-thinking-chunk": chunk(wasmhost.ThinkingChunk),
		}},
		{Name: ifTask, Funcs: map[string]wt.Func{
			// The function has no error case: whatever goes wrong ends the guest (WIT-28).
			"request-input": func(c *wt.Call, a []wt.Val) (wt.Val, error) {
				ask := imports(c).RequestInput
				if ask == nil {
					return nil, errUnavailable
				}
				return ask(c.Context(), a[0].(string))
			},
		}},
	}
}

// capsuleInterfaces are the Murmur imports of script capsules (WIT-25).
func capsuleInterfaces() []wt.Interface {
	return []wt.Interface{
		{Name: ifToolRun}, // imported for its types
		{Name: ifInvoke, Funcs: map[string]wt.Func{
			"invoke": func(c *wt.Call, a []wt.Val) (wt.Val, error) {
				invoke := imports(c).Invoke
				if invoke == nil {
					return wt.Err(errUnavailable.Error()), nil
				}
				r, err := invoke(c.Context(), a[0].(string), toolInputOf(a[1]))
				return answer(c, toolResult(r), err)
			},
		}},
		{Name: ifManage, Funcs: map[string]wt.Func{
			"list": func(c *wt.Call, a []wt.Val) (wt.Val, error) {
				m := imports(c).Artifacts
				if m == nil {
					return nil, errUnavailable
				}
				return summaries(m.List(c.Context())), nil
			},
			"describe": manage(func(c *wt.Call, m wasmhost.ArtifactManager, a []wt.Val) (wt.Val, error) {
				i, err := m.Describe(c.Context(), a[0].(string))
				return artifactInfo(i), err
			}),
			"search": manage(func(c *wt.Call, m wasmhost.ArtifactManager, a []wt.Val) (wt.Val, error) {
				l, err := m.Search(c.Context(), a[0].(string))
				return summaries(l), err
			}),
			"pull": manage(func(c *wt.Call, m wasmhost.ArtifactManager, a []wt.Val) (wt.Val, error) {
				s, err := m.Pull(c.Context(), a[0].(string), a[1].(string))
				return summary(s), err
			}),
			"remove": manage(func(c *wt.Call, m wasmhost.ArtifactManager, a []wt.Val) (wt.Val, error) {
				return m.Remove(c.Context(), a[0].(string))
			}),
			"diagnostics": manage(func(c *wt.Call, m wasmhost.ArtifactManager, a []wt.Val) (wt.Val, error) {
				s, err := m.Diagnostics(c.Context())
				return runtimeState(s), err
			}),
		}},
		{Name: ifSend, Funcs: map[string]wt.Func{
			"send": func(c *wt.Call, a []wt.Val) (wt.Val, error) {
				send := imports(c).Send
				if send == nil {
					return wt.Err(errUnavailable.Error()), nil
				}
				r, err := send(c.Context(), a[0].(string), messageOf(a[1]))
				return answer(c, taskResult(r), err)
			},
		}},
		{Name: ifShell, Funcs: map[string]wt.Func{
			"run": func(c *wt.Call, a []wt.Val) (wt.Val, error) {
				run := imports(c).Shell
				if run == nil {
					return wt.Err(errUnavailable.Error()), nil
				}
				r, err := run(c.Context(), a[0].(string), textsOf(a[1]), pairsOf(a[2]))
				return answer(c, shellResult(r), err)
			},
		}},
	}
}

// manage makes a function of artifact-manager that answers a result.
func manage(f func(*wt.Call, wasmhost.ArtifactManager, []wt.Val) (wt.Val, error)) wt.Func {
	return func(c *wt.Call, a []wt.Val) (wt.Val, error) {
		m := imports(c).Artifacts
		if m == nil {
			return wt.Err(errUnavailable.Error()), nil
		}
		v, err := f(c, m, a)
		return answer(c, v, err)
	}
}

// answer is a result<T, string>, except that a call whose time is over ends the
// guest here and now (CON-262).
func answer(c *wt.Call, v wt.Val, err error) (wt.Val, error) {
	if ctxErr := c.Context().Err(); ctxErr != nil {
		return nil, ctxErr
	}
	return textResult(v, err), nil
}
