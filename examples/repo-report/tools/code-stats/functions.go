package main

import (
	"bytes"
	"regexp"
	"strings"
)

// functionsIn finds the functions of one file by a first line that looks like
// one and by where its braces, or its indentation, come back. For Go as gofmt
// writes it that is exact, for other languages an estimate.
func functionsIn(lang, name string, text []byte) []Function {
	switch lang {
	case "Go":
		return goFunctions(name, text)
	case "Python":
		return indentedFunctions(name, text)
	}
	if head := bracedHeads[lang]; head != nil {
		return bracedFunctions(name, text, head)
	}
	return nil
}

// goHead matches the first line of a function as gofmt writes it, with the type
// of its receiver and its name.
var goHead = regexp.MustCompile(`^func (?:\((?:\w+ )?\*?(\w+)[^)]*\) )?(\w+)`)

// goFunctions relies on gofmt: a function begins at the margin and ends with the
// next } at the margin, or on its first line.
func goFunctions(name string, text []byte) []Function {
	var found []Function
	lines := bytes.Split(text, []byte("\n"))
	for i := 0; i < len(lines); i++ {
		if !bytes.HasPrefix(lines[i], []byte("func ")) {
			continue // most lines; an expression costs more than a look
		}
		m := goHead.FindSubmatch(lines[i])
		if m == nil {
			continue
		}
		last := i
		if !bytes.HasSuffix(lines[i], []byte("}")) {
			for last = i + 1; last < len(lines) && !bytes.HasPrefix(lines[last], []byte("}")); last++ {
			}
		}
		if last == len(lines) {
			break // it never ends: not Go, or not gofmt's
		}
		full := string(m[2])
		if len(m[1]) > 0 {
			full = string(m[1]) + "." + full
		}
		found = append(found, Function{Name: full, File: name, Line: i + 1, Lines: last - i + 1})
		i = last
	}
	return found
}

var pythonHead = regexp.MustCompile(`^(\s*)(?:async\s+)?def\s+(\w+)`)

func indentedFunctions(name string, text []byte) []Function {
	var found []Function
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		m := pythonHead.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		last := i
		for j := i + 1; j < len(lines); j++ {
			body := strings.TrimLeft(lines[j], " \t")
			if body == "" {
				continue
			}
			if len(lines[j])-len(body) <= len(m[1]) && !strings.HasPrefix(body, ")") {
				break
			}
			last = j
		}
		found = append(found, Function{Name: m[2], File: name, Line: i + 1, Lines: last - i + 1})
	}
	return found
}

// bracedHeads recognizes the first line of a function by language; the group is
// its name.
var bracedHeads = map[string]*regexp.Regexp{
	"C":          regexp.MustCompile(`^[A-Za-z_][\w\s*]*?\b(\w+)\([^;]*$`),
	"C++":        regexp.MustCompile(`^[A-Za-z_][\w\s*&:<>,]*?\b([\w:~]+)\([^;]*$`),
	"JavaScript": regexp.MustCompile(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*(\w+)`),
	"Rust":       regexp.MustCompile(`^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:const|async|unsafe|extern(?:\s+"[^"]*")?)\s+)*fn\s+(\w+)`),
	"Shell":      regexp.MustCompile(`^\s*(?:function\s+)?([\w-]+)\s*\(\)\s*\{`),
	"TypeScript": regexp.MustCompile(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*(\w+)`),
}

func bracedFunctions(name string, text []byte, head *regexp.Regexp) []Function {
	var found []Function
	lines := bytes.Split(text, []byte("\n"))
	for i := 0; i < len(lines); i++ {
		m := head.FindSubmatch(lines[i])
		if m == nil {
			continue
		}
		if last := closingLine(lines, i); last >= 0 {
			found = append(found, Function{Name: string(m[1]), File: name, Line: i + 1, Lines: last - i + 1})
			i = last
		}
	}
	return found
}

// closingLine returns the line at which the braces opened from line first on
// are closed again, or -1 when there are none or they never close. Braces in
// text literals and comments mislead it.
func closingLine(lines [][]byte, first int) int {
	depth, opened := 0, false
	for i := first; i < len(lines); i++ {
		for _, c := range lines[i] {
			switch c {
			case '{':
				depth++
				opened = true
			case '}':
				depth--
			case ';':
				if !opened {
					return -1 // a declaration without a body
				}
			}
		}
		if opened && depth <= 0 {
			return i
		}
	}
	return -1
}
