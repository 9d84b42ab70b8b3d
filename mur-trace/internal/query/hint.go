package query

import (
	"github.com/itchyny/gojq"
)

// onlyTypes returns the event types an expression can give a result or an error
// for, when its text shows that: it begins with select(.event_type == "...") or
// several of these joined by or. Other events then need not be decoded. It
// returns nil when nothing is known.
func onlyTypes(q *gojq.Query) []string {
	for q != nil && q.Op == gojq.OpPipe && plain(q) {
		q = q.Left
	}
	if q == nil || !plain(q) || q.Term == nil {
		return nil
	}
	t := q.Term
	if t.Type != gojq.TermTypeFunc || t.Func.Name != "select" || len(t.Func.Args) != 1 || len(t.SuffixList) > 0 {
		return nil
	}
	return typesOf(t.Func.Args[0])
}

// plain reports whether a query defines and binds nothing, so that its names
// mean what they always do.
func plain(q *gojq.Query) bool {
	return len(q.FuncDefs) == 0 && len(q.Patterns) == 0 && len(q.Imports) == 0
}

// typesOf reads a condition. Of a conjunction the left side is enough: where it
// is false the right one is not looked at.
func typesOf(q *gojq.Query) []string {
	if q == nil || !plain(q) {
		return nil
	}
	if t := q.Term; t != nil && t.Type == gojq.TermTypeQuery && len(t.SuffixList) == 0 {
		return typesOf(t.Query)
	}
	switch q.Op {
	case gojq.OpAnd:
		return typesOf(q.Left)
	case gojq.OpOr:
		left, right := typesOf(q.Left), typesOf(q.Right)
		if left == nil || right == nil {
			return nil
		}
		return append(left, right...)
	case gojq.OpEq:
		if isEventType(q.Left) {
			return literal(q.Right)
		}
		if isEventType(q.Right) {
			return literal(q.Left)
		}
	}
	return nil
}

func isEventType(q *gojq.Query) bool {
	return q != nil && plain(q) && q.Term != nil && q.Term.Type == gojq.TermTypeIndex && len(q.Term.SuffixList) == 0 && q.Term.Index.Name == "event_type"
}

func literal(q *gojq.Query) []string {
	if q == nil || !plain(q) || q.Term == nil || q.Term.Type != gojq.TermTypeString || len(q.Term.SuffixList) > 0 ||
		q.Term.Format != "" || len(q.Term.Str.Queries) > 0 {
		return nil
	}
	return []string{q.Term.Str.Str}
}
