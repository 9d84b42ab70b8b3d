package toolschema

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/mur-capsules/mur/lib/diag"
)

// Required returns the names in the root's required list, in order and each
// once. The error says why the list can not be read, which leaves calls of the
// tool unchecked (MAN-272).
func Required(schema string) ([]string, error) {
	var root map[string]json.RawMessage
	if err := json.Unmarshal([]byte(schema), &root); err != nil || root == nil {
		return nil, errors.New("its root is no object")
	}
	raw, ok := root["required"]
	if !ok {
		return nil, nil
	}
	var list []any
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, errors.New("required is no list")
	}
	var names []string
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, errors.New("required holds what is no string")
		}
		if !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names, nil
}

// Missing returns the required names that a call's input does not have. An
// input that is no object has none of them. A null value is there.
func Missing(required []string, input string) []string {
	var in map[string]json.RawMessage
	_ = json.Unmarshal([]byte(input), &in) // no object: nothing is there
	var out []string
	for _, name := range required {
		if _, ok := in[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}

// UncheckedWarning is W-RUN-004: a tool whose required list can not be read, for
// the reason Required gave. mur-launch prints it at the tool's first call.
func UncheckedWarning(tool string, reason error) diag.Warning {
	w := diag.Warningf("W-RUN-004", "tool", "calls of %s are not checked for required fields: in its input_schema %s", tool, reason)
	w.Phase = "session"
	w.Subject = &diag.Subject{Kind: diag.Artifact, Name: tool}
	w.Names = map[string]any{"tool": tool, "malformed": reason.Error()}
	return w
}
