package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// ParseResult reads the output of a tool command or reactor: exactly one
// tool-result object, with white space around it at most (WIT-46, WIT-47). The
// error says what is wrong with it.
func ParseResult(out []byte) (wasmhost.ToolResult, error) {
	var res wasmhost.ToolResult
	if len(bytes.TrimSpace(out)) == 0 {
		return res, errors.New("it is empty")
	}
	if !utf8.Valid(out) {
		return res, errors.New("it is not UTF-8")
	}
	// Decoding into a map keeps names exact: a struct would take "Status" too.
	var fields map[string]json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(out))
	if err := dec.Decode(&fields); err != nil {
		return res, fmt.Errorf("it is not a JSON object: %w", plain(err))
	}
	if fields == nil {
		return res, errors.New("it is null, not a JSON object")
	}
	if _, err := dec.Token(); err != io.EOF {
		return res, errors.New("something follows the JSON object")
	}
	for _, f := range []struct {
		name string
		into any
	}{
		{"status", &res.Status}, {"summary", &res.Summary}, {"data", &res.Data},
		{"data_path", &res.DataPath}, {"truncated", &res.Truncated},
	} {
		raw, ok := fields[f.name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, f.into); err != nil {
			return res, fmt.Errorf("member %q: %w", f.name, plain(err))
		}
	}
	switch res.Status {
	case wasmhost.Passed, wasmhost.Failed, wasmhost.Error:
	case "":
		return res, errors.New(`member "status" is missing`)
	default:
		return res, fmt.Errorf("status %q is not passed, failed or error", res.Status)
	}
	var err error
	if res.Metadata, err = parseMetadata(fields["metadata"]); err != nil {
		return res, fmt.Errorf(`member "metadata": %w`, err)
	}
	return res, nil
}

// parseMetadata reads an array of pairs or an object of strings, in the order
// written.
func parseMetadata(raw json.RawMessage) ([][2]string, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case raw[0] == '[':
		var pairs [][]string
		if err := json.Unmarshal(raw, &pairs); err != nil {
			return nil, plain(err)
		}
		var out [][2]string
		for _, p := range pairs {
			if len(p) != 2 {
				return nil, fmt.Errorf("an entry has %d strings, not 2", len(p))
			}
			out = append(out, [2]string(p))
		}
		return out, nil
	case raw[0] == '{':
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.Token() // the brace that was looked at
		var out [][2]string
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			var value *string
			if err := dec.Decode(&value); err != nil {
				return nil, plain(err)
			}
			if value == nil {
				return nil, fmt.Errorf("%q is null, not a string", name)
			}
			out = append(out, [2]string{name.(string), *value})
		}
		return out, nil
	}
	return nil, errors.New("it is neither an array nor an object")
}

// plain rewords type errors of package json, which speak of Go.
func plain(err error) error {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		return fmt.Errorf("found %s where another type belongs", te.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle")
	}
	return err
}
