package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// Report is what the template of the skill report-style is filled in with.
type Report struct {
	Stats    Stats
	Marks    []Mark
	MarksCut bool // there were more
}

// Stats is the answer of the tool code-stats; it names the fields a template
// may use and ignores others.
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

// Compile puts the tools' answers into the style's template.
func Compile(stats, marks, style string) (string, error) {
	var r Report
	if err := json.Unmarshal([]byte(stats), &r.Stats); err != nil {
		return "", fmt.Errorf("code-stats: %w", err)
	}
	var scan struct {
		Marks     []Mark `json:"marks"`
		Truncated bool   `json:"truncated"`
	}
	if err := json.Unmarshal([]byte(marks), &scan); err != nil {
		return "", fmt.Errorf("todo-scan: %w", err)
	}
	r.Marks, r.MarksCut = scan.Marks, scan.Truncated
	slices.SortFunc(r.Marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	if len(r.Marks) > maxMarks {
		r.Marks, r.MarksCut = r.Marks[:maxMarks], true
	}
	text, err := templateIn(style)
	if err != nil {
		return "", fmt.Errorf("report-style: %w", err)
	}
	t, err := template.New("report-style").Funcs(template.FuncMap{"percent": percent}).Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := t.Execute(&out, r); err != nil {
		return "", err
	}
	return strings.TrimRight(out.String(), "\n") + "\n", nil
}

// templateIn returns the text of the skill's block marked "template".
func templateIn(skill string) (string, error) {
	_, rest, found := strings.Cut(skill, "\n```template\n")
	if !found {
		return "", errors.New("the skill holds no template")
	}
	text, _, found := strings.Cut(rest, "\n```")
	if !found {
		return "", errors.New("the skill's template does not end")
	}
	return text + "\n", nil
}

func percent(part, whole int) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}
