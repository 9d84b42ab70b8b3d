package dispatch

import "strings"

const (
	openMark  = "<untrusted-content source="
	closeMark = "</untrusted-content>"
	// neutral goes behind the "<" of a marker that content holds.
	neutral = "!MURMUR-NEUTRALISED!"
	marker  = "untrusted-content"
)

// Fence puts content between the markers that say it is data (TOL-46 to TOL-48).
// Markers in the content are neutralised; nothing else in it changes.
func Fence(source, content string) string {
	return openMark + fenceName(source) + ">\n" + Neutralise(content) + "\n" + closeMark
}

func fenceName(source string) string {
	return Neutralise(strings.NewReplacer(">", "_", "\r", " ", "\n", " ").Replace(source))
}

// Neutralise makes every marker in a text, opening or closing, in any case, no
// marker. A text without one is returned as it is, and a second time changes
// nothing more.
func Neutralise(text string) string {
	var out strings.Builder
	rest := text
	for {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			break
		}
		name := strings.TrimPrefix(rest[i+1:], "/")
		if len(name) >= len(marker) && strings.EqualFold(name[:len(marker)], marker) {
			out.WriteString(rest[:i+1] + neutral)
		} else {
			out.WriteString(rest[:i+1])
		}
		rest = rest[i+1:]
	}
	if out.Len() == 0 {
		return text
	}
	return out.String() + rest
}
