package main

import (
	"os"
	"strings"
	"testing"
)

const stats = `{"files":3,"lines":200,"blank":20,"skipped":1,"later":true,
 "languages":[{"name":"Go","files":2,"lines":150,"blank":1},{"name":"C","files":1,"lines":50}],
 "functions":[{"name":"T.Run","file":"a/run.go","line":7,"lines":61}]}`

const marks = `{"files_scanned":3,"truncated":false,"marks":[
 {"file":"b.c","line":9,"kind":"FIXME","text":"leaks"},
 {"file":"a/run.go","line":30,"kind":"TODO","text":"name it"},
 {"file":"a/run.go","line":4,"kind":"TODO","text":""}]}`

func TestCompileWithTheSkill(t *testing.T) {
	style, err := os.ReadFile("../skills/report-style/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Compile(stats, marks, string(style))
	if err != nil {
		t.Fatal(err)
	}
	want := `# Report on the repository

3 files, 200 lines, 10 % of them blank; 1 files skipped.

## Languages

| language | files | lines | share |
|---|---:|---:|---:|
| Go | 2 | 150 | 75 % |
| C | 1 | 50 | 25 % |

## Longest functions

- ` + "`a/run.go:7`" + ` T.Run, 61 lines

## Marks to come back to

- ` + "`a/run.go:4`" + ` TODO 
- ` + "`a/run.go:30`" + ` TODO name it
- ` + "`b.c:9`" + ` FIXME leaks
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCompileCutsMarks(t *testing.T) {
	many := `{"marks":[` + strings.Repeat(`{"file":"a","line":1},`, maxMarks) + `{"file":"b","line":1}]}`
	got, err := Compile(stats, many, "s\n```template\n{{len .Marks}} {{.MarksCut}}\n```\n")
	if err != nil || got != "50 true\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct{ name, stats, marks, style, want string }{
		{"stats", "{", marks, "", "code-stats: "},
		{"marks", stats, "[]", "", "todo-scan: "},
		{"no template", stats, marks, "# words", "no template"},
		{"open template", stats, marks, "a\n```template\n{{.Marks}}", "does not end"},
		{"bad template", stats, marks, "a\n```template\n{{.Marks\n```\n", "unclosed action"},
		{"unknown field", stats, marks, "a\n```template\n{{.Colour}}\n```\n", "Colour"},
	} {
		if got, err := Compile(c.stats, c.marks, c.style); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v; want an error with %q", c.name, got, err, c.want)
		}
	}
}
