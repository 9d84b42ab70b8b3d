package main

import (
	"os"
	"strings"
	"testing"
)

const stats = `{"files":3,"lines":200,"blank":21,"skipped":1,"later":true,
 "languages":[{"name":"Go","files":2,"lines":150,"blank":1},{"name":"C","files":1,"lines":50}],
 "functions":[{"name":"T.Run","file":"a/run.go","line":7,"lines":61}]}`

const marks = `{"files_scanned":3,"truncated":false,"marks":[
 {"file":"b.c","line":9,"kind":"FIXME","text":"leaks $5"},
 {"file":"a/run.go","line":30,"kind":"TODO","text":"name it"},
 {"file":"a/run.go","line":4,"kind":"TODO","text":""}]}`

func skill(t *testing.T) string {
	t.Helper()
	style, err := os.ReadFile("../skills/report-style/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(style)
}

func TestCompileWithTheSkill(t *testing.T) {
	got, err := Compile(stats, marks, skill(t))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`# Report on the repository

3 files, 200 lines, 11 % of them blank; 1 files could not be read.

## Languages

| language | files | lines | share |
|---|---:|---:|---:|
| Go | 2 | 150 | 75 % |
| C | 1 | 50 | 25 % |

## Longest functions

- ^a/run.go:7^ T.Run, 61 lines

## Marks to come back to

- ^a/run.go:4^ TODO 
- ^a/run.go:30^ TODO name it
- ^b.c:9^ FIXME leaks $5

3 shown, 0 left out.
`, "^", "`")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCompileOfNothing(t *testing.T) {
	got, err := Compile(`{}`, `{}`, skill(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0 files, 0 lines, 0 %", "| none | 0 | 0 | 0 % |", "functions\n\nNone found.\n", "back to\n\nNone found.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestCompileCutsMarks(t *testing.T) {
	many := `{"truncated":true,"marks":[` + strings.Repeat(`{"file":"a","line":1},`, maxMarks) + `{"file":"b","line":1}]}`
	got, err := Compile(stats, many, "s\n```template\n$marks and $more\n```\n")
	if err != nil || got != "50 and 1 or more\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct{ name, stats, marks, style, want string }{
		{"stats", "{", marks, "", "code-stats: "},
		{"marks", stats, "[]", "", "todo-scan: "},
		{"no template", stats, marks, "# words", "no template"},
		{"open template", stats, marks, "a\n```template\n$files", "does not end"},
		{"unknown name", stats, marks, "a\n```template\n$colour\n```\n", "$colour"},
		{"name of another list", stats, marks, "a\n```template\neach mark: $share\n```\n", "$share"},
	} {
		if got, err := Compile(c.stats, c.marks, c.style); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v; want an error with %q", c.name, got, err, c.want)
		}
	}
}
