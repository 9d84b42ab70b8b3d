// Package call turns what somebody asks for into what is started: the text of a
// shell tool into an argument vector, the host's environment into the command's.
// It is pure.
package call

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
)

// interpreters are the entries whose text is handed over as a whole (SHL-37).
var interpreters = []string{"bash", "sh", "zsh", "fish", "dash", "ksh"}

// IsInterpreter reports whether an entry takes a shell line.
func IsInterpreter(entry string) bool { return slices.Contains(interpreters, entry) }

// Call is a request as it will be run: the entry is what the program sees as its
// name. Script is the body an interpreter runs, nil for a direct entry.
type Call struct {
	Entry   string
	Command string // as it was received, trimmed
	Args    []string
	Script  *string
	// Recipe is the body of the build recipe the call names, for those who look at
	// it; it changes nothing of what runs (SHL-129).
	Recipe *string
}

// FromText applies the rules of a shell tool to its command text (SHL-36 to
// SHL-40).
func FromText(entry, text string) (Call, error) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return Call{}, errors.New("command is empty")
	case strings.ContainsRune(trimmed, 0):
		return Call{}, errors.New("command holds a NUL character")
	case IsInterpreter(entry):
		return Call{Entry: entry, Command: trimmed, Args: []string{"-c", trimmed}, Script: &trimmed}, nil
	}
	return Call{Entry: entry, Command: trimmed, Args: split(trimmed)}, nil
}

// FromWords is a call whose arguments are given one by one; nothing is split.
func FromWords(words []string) Call {
	return Call{Entry: words[0], Command: strings.Join(words[1:], " "), Args: words[1:]}
}

// FromData reads a shell tool's input: text holding a JSON object with a string
// command (SHL-26). Further keys are ignored.
func FromData(entry string, data *string) (Call, error) {
	if data == nil {
		return Call{}, errors.New("the input is missing")
	}
	var in struct {
		Command *string `json:"command"`
	}
	if err := json.Unmarshal([]byte(*data), &in); err != nil {
		return Call{}, errors.New("the input is no JSON object with a string command")
	}
	if in.Command == nil {
		return Call{}, errors.New("the input has no command")
	}
	return FromText(entry, *in.Command)
}

// Line is what a person would type for the call (SHL-29).
func (c Call) Line() string {
	if c.Script != nil {
		return c.Command
	}
	return strings.TrimSpace(c.Entry + " " + c.Command)
}

// split breaks text into words: Unicode white space separates, ' and " quote, a
// backslash makes the next character literal everywhere. Nothing is expanded.
// Empty words are dropped, an unterminated quote takes the rest, a final lone
// backslash is dropped (SHL-38, SHL-39).
func split(text string) []string {
	words := []string{}
	var word strings.Builder
	var quote rune
	escaped := false
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote = r
		case unicode.IsSpace(r):
			flush()
		default:
			word.WriteRune(r)
		}
	}
	flush()
	return words
}
