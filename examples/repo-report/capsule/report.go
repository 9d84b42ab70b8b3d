package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Stats is the answer of the tool code-stats, as far as a report uses it.
type Stats struct {
	Files     int `json:"files"`
	Lines     int `json:"lines"`
	Blank     int `json:"blank"`
	Skipped   int `json:"skipped"`
	Languages []struct {
		Name  string `json:"name"`
		Files int    `json:"files"`
		Lines int    `json:"lines"`
	} `json:"languages"`
	Functions []struct {
		Name  string `json:"name"`
		File  string `json:"file"`
		Line  int    `json:"line"`
		Lines int    `json:"lines"`
	} `json:"functions"`
}

// Mark is one of the answer of the tool todo-scan.
type Mark struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// maxMarks keeps a report readable.
const maxMarks = 50

// values are what the names of a template stand for.
type values map[string]string

// Compile lays the tools' answers out as the template in the style says.
func Compile(stats, marks, style string) (string, error) {
	var s Stats
	if err := json.Unmarshal([]byte(stats), &s); err != nil {
		return "", fmt.Errorf("code-stats: %w", err)
	}
	var scan struct {
		Marks     []Mark `json:"marks"`
		Truncated bool   `json:"truncated"`
	}
	if err := json.Unmarshal([]byte(marks), &scan); err != nil {
		return "", fmt.Errorf("todo-scan: %w", err)
	}
	template, err := templateIn(style)
	if err != nil {
		return "", fmt.Errorf("report-style: %w", err)
	}
	slices.SortFunc(scan.Marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	shown := scan.Marks[:min(maxMarks, len(scan.Marks))]
	more := strconv.Itoa(len(scan.Marks) - len(shown))
	if scan.Truncated {
		more += " or more"
	}
	total := values{
		"files": strconv.Itoa(s.Files), "lines": strconv.Itoa(s.Lines), "skipped": strconv.Itoa(s.Skipped),
		"blank": percent(s.Blank, s.Lines), "marks": strconv.Itoa(len(shown)), "more": more,
	}
	lists := map[string][]values{"language": {}, "function": {}, "mark": {}}
	for _, l := range s.Languages {
		lists["language"] = append(lists["language"], values{
			"name": l.Name, "files": strconv.Itoa(l.Files), "lines": strconv.Itoa(l.Lines), "share": percent(l.Lines, s.Lines),
		})
	}
	for _, f := range s.Functions {
		lists["function"] = append(lists["function"], values{
			"name": f.Name, "file": f.File, "line": strconv.Itoa(f.Line), "lines": strconv.Itoa(f.Lines),
		})
	}
	for _, m := range shown {
		lists["mark"] = append(lists["mark"], values{
			"file": m.File, "line": strconv.Itoa(m.Line), "kind": m.Kind, "text": m.Text,
		})
	}
	return fill(template, total, lists)
}

// templateIn returns the lines of the skill's block marked "template".
func templateIn(skill string) ([]string, error) {
	_, rest, found := strings.Cut(skill, "\n```template\n")
	if !found {
		return nil, errors.New("the skill holds no template")
	}
	text, _, found := strings.Cut(rest, "\n```")
	if !found {
		return nil, errors.New("the skill's template does not end")
	}
	return strings.Split(text, "\n"), nil
}

// fill writes the template's lines with their $names replaced: a line
// "each mark: ..." once for each mark, "no mark: ..." when there is none.
func fill(template []string, total values, lists map[string][]values) (string, error) {
	var out strings.Builder
	for _, line := range template {
		head, rest, _ := strings.Cut(line, ": ")
		word, name, _ := strings.Cut(head, " ")
		list, isList := lists[name]
		rows := []values{total}
		switch {
		case word == "each" && isList:
			rows, line = list, rest
		case word == "no" && isList:
			line = rest
			if len(list) > 0 {
				rows = nil
			}
		}
		for _, row := range rows {
			text, err := row.replace(line)
			if err != nil {
				return "", err
			}
			out.WriteString(text + "\n")
		}
	}
	return out.String(), nil
}

func (v values) replace(line string) (string, error) {
	var err error
	text := os.Expand(line, func(name string) string {
		value, known := v[name]
		if !known {
			err = fmt.Errorf("report-style: nothing is called $%s in the line %q", name, line)
		}
		return value
	})
	return text, err
}

func percent(part, whole int) string {
	if whole == 0 {
		return "0 %"
	}
	return strconv.Itoa((100*part+whole/2)/whole) + " %"
}
