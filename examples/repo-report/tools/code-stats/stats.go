package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Input is what a caller may ask for, as the input_schema of murmur.yaml says.
type Input struct {
	// Longest is how many of the longest functions are named; 0 means 10.
	Longest int `json:"longest"`
}

// Stats is the tool's answer.
type Stats struct {
	Files     int        `json:"files"`
	Lines     int        `json:"lines"`
	Blank     int        `json:"blank"`
	Languages []Language `json:"languages"` // most lines first
	Functions []Function `json:"functions"` // longest first
	// Skipped counts files of a known language that could not be read or are
	// larger than maxFile.
	Skipped int `json:"skipped"`
}

// Language sums the files of one language.
type Language struct {
	Name  string `json:"name"`
	Files int    `json:"files"`
	Lines int    `json:"lines"`
	Blank int    `json:"blank"`
}

// Function is one function with the line it starts at and its length in lines.
type Function struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Lines int    `json:"lines"`
}

// maxFile bounds what is read: larger files are not written by people.
const maxFile = 1 << 20

// Collect reads every source file beneath root. A file that can not be read is
// counted and left out: one bad file does not spoil a report.
func Collect(root fs.FS, in Input) (Stats, error) {
	var s Stats
	byName := map[string]*Language{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if name == "." {
			return err // no root, no report
		}
		if err != nil {
			s.Skipped++
			return nil
		}
		if ignored(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		lang := languageOf(name)
		if lang == "" || !d.Type().IsRegular() {
			return nil
		}
		text, err := readSource(root, name, d)
		if err != nil || text == nil {
			s.Skipped++
			return nil
		}
		l := byName[lang]
		if l == nil {
			l = &Language{Name: lang}
			byName[lang] = l
		}
		lines, blank := countLines(text)
		l.Files++
		l.Lines += lines
		l.Blank += blank
		s.Functions = append(s.Functions, functionsIn(lang, name, text)...)
		return nil
	})
	if err != nil {
		return Stats{}, err
	}
	for _, l := range byName {
		s.Files += l.Files
		s.Lines += l.Lines
		s.Blank += l.Blank
		s.Languages = append(s.Languages, *l)
	}
	slices.SortFunc(s.Languages, func(a, b Language) int {
		return cmp.Or(cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.Name, b.Name))
	})
	s.Functions = longest(s.Functions, in.Longest)
	return s, nil
}

// ignored says which files and folders hold no source of the project's own:
// hidden ones, vendored ones, and the folder reports are written to.
func ignored(name string) bool {
	base := path.Base(name)
	switch base {
	case "node_modules", "vendor", "target":
		return true
	}
	return strings.HasPrefix(base, ".") || name == "out"
}

// readSource returns nil for a file that is too large or is no text.
func readSource(root fs.FS, name string, d fs.DirEntry) ([]byte, error) {
	if info, err := d.Info(); err != nil || info.Size() > maxFile {
		return nil, err
	}
	text, err := fs.ReadFile(root, name)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return nil, err
	}
	if text == nil {
		text = []byte{} // an empty file is a file
	}
	return text, nil
}

// countLines counts a last line without newline as a line.
func countLines(text []byte) (lines, blank int) {
	for line := range bytes.Lines(text) {
		lines++
		if len(bytes.TrimSpace(line)) == 0 {
			blank++
		}
	}
	return lines, blank
}

// longest keeps the n longest functions, ties in order of place.
func longest(all []Function, n int) []Function {
	if n <= 0 {
		n = 10
	}
	slices.SortFunc(all, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return all[:min(n, len(all))]
}
