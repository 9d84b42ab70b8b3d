// Command capsule is the script capsule repo-report: it asks two tools about
// the source code in its work folder, lays their answers out as the skill
// report-style says, and leaves the report as out/report.md and on its standard
// output.
//
// It is an ordinary Go program for GOOS=wasip1. What it may reach is in
// murmur.yaml: its work folder, and the three artifacts declared there.
package main

import (
	"fmt"
	"os"

	"github.com/mur-capsules/mur/lib/guest"
)

func main() { guest.Capsule(run) }

func run() error {
	stats, err := call("code-stats", `{"longest":10}`)
	if err != nil {
		return err
	}
	marks, err := call("todo-scan", `{}`)
	if err != nil {
		return err
	}
	style, err := call("report-style", `{}`) // a skill answers with its text
	if err != nil {
		return err
	}
	report, err := Compile(stats, marks, style)
	if err != nil {
		return err
	}
	fmt.Print(report)
	if err := os.MkdirAll("out", 0o755); err != nil {
		return err
	}
	return os.WriteFile("out/report.md", []byte(report), 0o644)
}

// call returns the data of a tool that passed.
func call(name, input string) (string, error) {
	r, err := guest.InvokeText(name, input)
	if err != nil {
		return "", err
	}
	if r.Status != guest.StatusPassed {
		summary := "it says no more"
		if r.Summary != nil {
			summary = *r.Summary
		}
		return "", fmt.Errorf("tool %s %s: %s", name, r.Status, summary)
	}
	return r.Text(), nil
}
