package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"sync"

	"gopkg.in/yaml.v3"
)

// JSON writes a YAML value as compact JSON in written key order, aliases
// expanded. It refuses what JSON has not: keys that are no text, NaN and
// infinities. The error names line and column and never a value.
func JSON(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	if err := writeJSON(&b, n); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeJSON(b *bytes.Buffer, n *yaml.Node) error {
	v := Resolve(n)
	switch v.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i < len(v.Content); i += 2 {
			k := Resolve(v.Content[i])
			if KindOf(k) != "string" {
				return fmt.Errorf("the key on line %d, column %d is no string (%s)", v.Content[i].Line, v.Content[i].Column, KindOf(k))
			}
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, k.Value)
			b.WriteByte(':')
			if err := writeJSON(b, v.Content[i+1]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range v.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, c); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	switch KindOf(v) {
	case "null":
		b.WriteString("null")
	case "boolean":
		var yes bool
		if err := v.Decode(&yes); err != nil {
			return fmt.Errorf("the value on line %d, column %d is no boolean", n.Line, n.Column)
		}
		b.WriteString(strconv.FormatBool(yes))
	case "integer", "float":
		return writeNumber(b, n, v)
	default:
		writeText(b, v.Value)
	}
	return nil
}

var jsonNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`) })

// writeNumber keeps the author's digits where JSON knows the form, so that no
// precision is lost; other spellings (hexadecimal, underscores) are converted.
func writeNumber(b *bytes.Buffer, at, v *yaml.Node) error {
	if jsonNumber().MatchString(v.Value) {
		b.WriteString(v.Value)
		return nil
	}
	var f any
	if err := v.Decode(&f); err != nil {
		return fmt.Errorf("the number on line %d, column %d can not be read", at.Line, at.Column)
	}
	switch x := f.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("the number on line %d, column %d is not finite, which JSON has no word for", at.Line, at.Column)
		}
		out, err := json.Marshal(x)
		if err != nil {
			return err
		}
		b.Write(out)
	default:
		fmt.Fprintf(b, "%d", x)
	}
	return nil
}

func writeText(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)       // a string always encodes
	b.Truncate(b.Len() - 1) // the newline Encode adds
}
