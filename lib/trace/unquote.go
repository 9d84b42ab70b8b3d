package trace

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote decodes a JSON string with its quotes, which StringEnd has found to be
// one. Invalid UTF-8 and lone surrogates become U+FFFD.
func Unquote(quoted []byte) string {
	in := quoted[1 : len(quoted)-1]
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		switch c := in[i]; {
		case c == '\\':
			var r rune
			if r, i = escaped(in, i); r < utf8.RuneSelf {
				out = append(out, byte(r))
			} else {
				out = utf8.AppendRune(out, r)
			}
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(in[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return string(out)
}

// escaped returns the character of the escape at i and the index after it.
func escaped(in []byte, i int) (rune, int) {
	switch c := in[i+1]; c {
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
		r := hexRune(in[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			if i+6 <= len(in) && in[i] == '\\' && in[i+1] == 'u' {
				if pair := utf16.DecodeRune(r, hexRune(in[i+2:])); pair != utf8.RuneError {
					return pair, i + 6
				}
			}
			return utf8.RuneError, i
		}
		return r, i
	default:
		return rune(c), i + 2
	}
}

func hexRune(b []byte) (r rune) {
	for _, c := range b[:4] {
		d, _ := hexDigit(c)
		r = r<<4 | rune(d)
	}
	return r
}
