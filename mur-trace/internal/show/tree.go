package show

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/render"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

// Node is one session of a tree of delegations (TRC-199). One whose records are
// gone has Missing set and no numbers.
type Node struct {
	SessionID    string  `json:"session_id"`
	Capsule      string  `json:"capsule"`
	DelegationID *string `json:"delegation_id"`
	RecordsDir   *string `json:"records_dir"`
	Missing      bool    `json:"missing"`
	ExitStatus   *string `json:"exit_status"`
	Turns        *int64  `json:"turns"`
	InputTokens  *int64  `json:"input_tokens"`
	OutputTokens *int64  `json:"output_tokens"`
	DurationMS   *int64  `json:"duration_ms"`
	Children     []*Node `json:"children"`
}

// Total are the sums over a tree.
type Total struct {
	Sessions     int64 `json:"sessions"`
	Missing      int64 `json:"missing"`
	Turns        int64 `json:"turns"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	DurationMS   int64 `json:"duration_ms"`
}

// maxDepth bounds a tree, whatever its records claim.
const maxDepth = 64

// Tree reads the sessions a session delegated to, and theirs.
func Tree(r *record.Record) *Node {
	s := sessionOf(r)
	n := &Node{SessionID: r.ID, Capsule: s.CapsuleName + " " + s.CapsuleVersion, DelegationID: s.DelegationID, RecordsDir: s.RecordsDir}
	grow(n, r, map[string]bool{filepath.Clean(r.Trace.RecordsDir): true}, 0)
	return n
}

func grow(n *Node, r *record.Record, seen map[string]bool, depth int) {
	m := r.Metrics
	n.ExitStatus, n.Turns, n.InputTokens, n.OutputTokens, n.DurationMS = &m.ExitStatus, &m.Turns, &m.InputTokens, &m.OutputTokens, &m.DurationMS
	n.Children = []*Node{}
	for _, l := range r.Events("delegation_start") {
		dir := text(l, "child_records_dir")
		child := &Node{SessionID: text(l, "child_session_id"), Capsule: text(l, "capsule") + " " + text(l, "version"),
			DelegationID: maybe(l, "delegation_id"), RecordsDir: &dir, Missing: true, Children: []*Node{}}
		n.Children = append(n.Children, child)
		if dir = filepath.Clean(dir); seen[dir] || depth == maxDepth {
			continue
		}
		seen[dir] = true
		t := source.Trace{SessionID: child.SessionID, RecordsDir: dir, Path: filepath.Join(dir, trace.FileName)}
		c, err := record.Load(t, record.Options{})
		if err != nil {
			continue
		}
		child.Missing = false
		grow(child, c, seen, depth+1)
		c.Close()
	}
}

func (n *Node) total(t *Total) {
	t.Sessions++
	if n.Missing {
		t.Missing++
	}
	t.Turns += deref(n.Turns)
	t.InputTokens += deref(n.InputTokens)
	t.OutputTokens += deref(n.OutputTokens)
	t.DurationMS += deref(n.DurationMS)
	for _, c := range n.Children {
		c.total(t)
	}
}

// TreeJSON prints a tree for programs.
func TreeJSON(w io.Writer, n *Node) error {
	var t Total
	n.total(&t)
	j := render.NewJSON(w)
	j.Value(struct {
		Schema string `json:"schema"`
		Root   *Node  `json:"root"`
		Total  Total  `json:"total"`
	}{"murmur.trace-tree/1", n, t})
	return j.Close()
}

// TreeText prints a tree for people.
func TreeText(t *render.Text, n *Node) error {
	t.Section("Sessions")
	treeRow(t, n, 0)
	var sum Total
	n.total(&sum)
	t.Printf("  total: %s sessions, %s missing, %s turns, tokens %s in %s out, %s\n", render.Count(sum.Sessions), render.Count(sum.Missing),
		render.Count(sum.Turns), render.Count(sum.InputTokens), render.Count(sum.OutputTokens), render.Millis(sum.DurationMS))
	return t.Close()
}

func treeRow(t *render.Text, n *Node, depth int) {
	head := "  " + strings.Repeat("  ", depth) + render.Clean(n.SessionID) + "  " + render.Clean(n.Capsule) + "  "
	if n.Missing {
		t.Printf("%s%s\n", head, t.Bad("missing: "+render.Or(n.RecordsDir)))
	} else {
		t.Printf("%s%s  %s turns  tokens %s in %s out  %s\n", head, render.Or(n.ExitStatus), render.CountOf(n.Turns),
			render.CountOf(n.InputTokens), render.CountOf(n.OutputTokens), render.Millis(deref(n.DurationMS)))
	}
	for _, c := range n.Children {
		treeRow(t, c, depth+1)
	}
}
