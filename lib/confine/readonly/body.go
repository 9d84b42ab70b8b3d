package readonly

import (
	"slices"
	"strings"
)

// Body checks the text of a shell: the targets of its redirections, and each of
// its commands as Direct does (CON-245, CON-246).
func (c *Checker) Body(script string) *Hit {
	if c.Idle() {
		return nil
	}
	for _, cmd := range parse(script) {
		for _, r := range cmd.targets {
			if h := c.match(r.word, r.operator, false); h != nil {
				return h
			}
		}
		words := cmd.words
		for len(words) > 0 && (slices.Contains(reserved, words[0]) || assignment(words[0])) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		if h := c.Direct(words[0], words[1:]); h != nil {
			return h
		}
	}
	return nil
}

// reserved are the words of a shell's grammar that stand before a command.
var reserved = []string{"if", "then", "else", "elif", "while", "until", "do", "!", "time", "{", "exec", "command", "builtin"}

func assignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) < 0
}

// command is one simple command of a body.
type command struct {
	words   []string
	targets []target
}

// target is what a redirection writes to.
type target struct{ operator, word string }

// parser splits a body at its operators, with quotes and backslashes respected.
// It knows no grammar: a reserved word is a word.
type parser struct {
	text     string
	pos      int
	out      []command
	now      command
	word     strings.Builder
	has      bool   // a word has begun, perhaps an empty one
	quoted   bool   // some of it was quoted
	redirect string // the operator whose target comes next
	heredocs []heredoc
}

// heredoc is a body that begins behind the next newline and is no command.
type heredoc struct {
	end  string
	tabs bool
}

func parse(text string) []command {
	p := &parser{text: text}
	for p.pos < len(p.text) {
		p.step()
	}
	p.endCommand()
	return p.out
}

func (p *parser) rest(s string) bool { return strings.HasPrefix(p.text[p.pos:], s) }

func (p *parser) step() {
	ch := p.text[p.pos]
	switch {
	case ch == '\\':
		p.pos++
		if p.pos < len(p.text) {
			if p.text[p.pos] != '\n' {
				p.put(p.text[p.pos])
				p.quoted = true
			}
			p.pos++
		}
	case ch == '\'' || ch == '"':
		p.quote(ch)
	case ch == ' ' || ch == '\t' || ch == '\r':
		p.endWord()
		p.pos++
	case ch == '#' && !p.has:
		for p.pos < len(p.text) && p.text[p.pos] != '\n' {
			p.pos++
		}
	case ch == '\n':
		p.endCommand()
		p.pos++
		p.skipHeredocs()
	case ch == '&' && p.rest("&>"):
		p.operator(p.longest("&>>", "&>"))
	case ch == '<' || ch == '>':
		p.angle()
	case ch == ';' || ch == '|' || ch == '&' || ch == '(' || ch == ')' || ch == '`':
		p.endCommand()
		p.pos++
	case (ch == '{' || ch == '}') && !p.has:
		p.endCommand()
		p.pos++
	default:
		p.put(ch)
		p.pos++
	}
}

func (p *parser) put(b byte) {
	p.word.WriteByte(b)
	p.has = true
}

func (p *parser) quote(mark byte) {
	p.has, p.quoted = true, true
	for p.pos++; p.pos < len(p.text) && p.text[p.pos] != mark; p.pos++ {
		if mark == '"' && p.text[p.pos] == '\\' && p.pos+1 < len(p.text) && strings.IndexByte("\"\\$`\n", p.text[p.pos+1]) >= 0 {
			p.pos++
		}
		p.word.WriteByte(p.text[p.pos])
	}
	p.pos++
}

func (p *parser) longest(operators ...string) string {
	for _, o := range operators {
		if p.rest(o) {
			return o
		}
	}
	return ""
}

// angle reads a redirection. A number right before it is a descriptor.
func (p *parser) angle() {
	number := ""
	if w := p.word.String(); p.has && !p.quoted && strings.Trim(w, "0123456789") == "" {
		number = w
		p.word.Reset()
		p.has = false
	}
	op := p.longest("<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">")
	p.endWord()
	p.pos += len(op)
	switch op {
	case "<<", "<<-":
		p.redirect = op
	case "<", "<&", "<<<":
		p.redirect = "<" // read: the word is dropped
	default:
		p.redirect = number + op
	}
}

func (p *parser) operator(op string) {
	p.endWord()
	p.pos += len(op)
	p.redirect = op
}

func (p *parser) endWord() {
	if !p.has {
		return
	}
	w := p.word.String()
	p.word.Reset()
	p.has, p.quoted = false, false
	op := p.redirect
	p.redirect = ""
	switch {
	case op == "":
		p.now.words = append(p.now.words, w)
	case op == "<":
	case op == "<<" || op == "<<-":
		p.heredocs = append(p.heredocs, heredoc{end: w, tabs: op == "<<-"})
	case strings.HasSuffix(op, ">&") && (w == "-" || strings.Trim(strings.TrimSuffix(w, "-"), "0123456789") == ""):
		// A duplicate of a descriptor is no target.
	default:
		p.now.targets = append(p.now.targets, target{op, w})
	}
}

func (p *parser) endCommand() {
	p.endWord()
	p.redirect = ""
	if len(p.now.words) > 0 || len(p.now.targets) > 0 {
		p.out = append(p.out, p.now)
	}
	p.now = command{}
}

func (p *parser) skipHeredocs() {
	for _, h := range p.heredocs {
		for p.pos < len(p.text) {
			line, _, _ := strings.Cut(p.text[p.pos:], "\n")
			p.pos = min(p.pos+len(line)+1, len(p.text))
			if h.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.end {
				break
			}
		}
	}
	p.heredocs = nil
}
