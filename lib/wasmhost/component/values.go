package component

import (
	"github.com/mur-capsules/mur/lib/wasmhost"
	wt "github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// The functions below turn the records of the WIT part into Go and back. What
// comes from a guest has the type its component declares, and Compile compared
// that with the table.

func option(s *string) wt.Option {
	if s == nil {
		return wt.None
	}
	return wt.Some(*s)
}

func optionOf(v wt.Val) *string {
	o, _ := v.(wt.Option)
	if s, ok := o.V.(string); ok && o.Some {
		return &s
	}
	return nil
}

// textResult is a result<T, string>.
func textResult(v wt.Val, err error) wt.Val {
	if err != nil {
		return wt.Err(err.Error())
	}
	return wt.Ok(v)
}

func toolInput(in wasmhost.ToolInput) wt.Record {
	return wt.Record{{Name: "data", V: option(in.Data)}, {Name: "log-path", V: option(in.LogPath)}}
}

func toolInputOf(v wt.Val) wasmhost.ToolInput {
	r, _ := v.(wt.Record)
	return wasmhost.ToolInput{Data: optionOf(r.Get("data")), LogPath: optionOf(r.Get("log-path"))}
}

func toolResult(r wasmhost.ToolResult) wt.Record {
	meta := make(wt.List, len(r.Metadata))
	for i, m := range r.Metadata {
		meta[i] = wt.Tuple{m[0], m[1]}
	}
	return wt.Record{
		{Name: "status", V: wt.Enum(r.Status)},
		{Name: "summary", V: option(r.Summary)},
		{Name: "data", V: option(r.Data)},
		{Name: "data-path", V: option(r.DataPath)},
		{Name: "truncated", V: r.Truncated},
		{Name: "metadata", V: meta},
	}
}

// textsOf is a list<string>.
func textsOf(v wt.Val) []string {
	list, _ := v.(wt.List)
	out := make([]string, len(list))
	for i, e := range list {
		out[i], _ = e.(string)
	}
	return out
}

// pairsOf is a list<tuple<string, string>>.
func pairsOf(v wt.Val) [][2]string {
	list, _ := v.(wt.List)
	out := make([][2]string, len(list))
	for i, e := range list {
		if t, _ := e.(wt.Tuple); len(t) == 2 {
			out[i][0], _ = t[0].(string)
			out[i][1], _ = t[1].(string)
		}
	}
	return out
}

func shellResult(r wasmhost.ShellResult) wt.Record {
	return wt.Record{
		{Name: "exit-code", V: r.ExitCode},
		{Name: "stdout", V: r.Stdout},
		{Name: "stderr", V: r.Stderr},
		{Name: "truncated", V: r.Truncated},
		{Name: "full-output-path", V: option(r.FullOutputPath)},
	}
}

func toolResultOf(v wt.Val) (wasmhost.ToolResult, bool) {
	r, _ := v.(wt.Record)
	status, ok := r.Get("status").(wt.Enum)
	truncated, okT := r.Get("truncated").(bool)
	list, okM := r.Get("metadata").(wt.List)
	if !ok || !okT || !okM {
		return wasmhost.ToolResult{}, false
	}
	out := wasmhost.ToolResult{
		Status:    wasmhost.Status(status),
		Summary:   optionOf(r.Get("summary")),
		Data:      optionOf(r.Get("data")),
		DataPath:  optionOf(r.Get("data-path")),
		Truncated: truncated,
	}
	for _, m := range list {
		t, _ := m.(wt.Tuple)
		if len(t) != 2 {
			return wasmhost.ToolResult{}, false
		}
		k, okK := t[0].(string)
		s, okS := t[1].(string)
		if !okK || !okS {
			return wasmhost.ToolResult{}, false
		}
		out.Metadata = append(out.Metadata, [2]string{k, s})
	}
	return out, true
}

func texts(list []string) wt.List {
	out := make(wt.List, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func summary(s wasmhost.ArtifactSummary) wt.Record {
	return wt.Record{{Name: "name", V: s.Name}, {Name: "version", V: s.Version}, {Name: "runtime", V: wt.Enum(s.Runtime)}}
}

func summaries(list []wasmhost.ArtifactSummary) wt.List {
	out := make(wt.List, len(list))
	for i, s := range list {
		out[i] = summary(s)
	}
	return out
}

func artifactInfo(i wasmhost.ArtifactInfo) wt.Record {
	return wt.Record{
		{Name: "name", V: i.Name},
		{Name: "version", V: i.Version},
		{Name: "description", V: i.Description},
		{Name: "tags", V: texts(i.Tags)},
		{Name: "runtime", V: wt.Enum(i.Runtime)},
		{Name: "input-schema", V: option(i.InputSchema)},
		{Name: "output-schema", V: option(i.OutputSchema)},
	}
}

func runtimeState(s wasmhost.RuntimeState) wt.Record {
	return wt.Record{
		{Name: "capsule-id", V: s.CapsuleID},
		{Name: "installed", V: summaries(s.Installed)},
		{Name: "capabilities", V: s.Capabilities},
	}
}

func taskResult(r wasmhost.TaskResult) wt.Record {
	return wt.Record{
		{Name: "task-id", V: r.TaskID},
		{Name: "context-id", V: r.ContextID},
		{Name: "state", V: r.State},
	}
}

func messageOf(v wt.Val) wasmhost.Message {
	r, _ := v.(wt.Record)
	id, _ := r.Get("message-id").(string)
	text, _ := r.Get("text").(string)
	return wasmhost.Message{MessageID: id, ContextID: optionOf(r.Get("context-id")), Text: text}
}
