package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine/escape"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// ProbeWord makes this program the probe of its own suite: main hands over to
// package attempt when it is the first argument. It is for mur-doctor alone.
const ProbeWord = "escape-probe"

// The exit statuses of --escape beside 0, 1 and 2 (CON-273).
const (
	exitBoundary = 3
	exitResource = 4
)

// classReport is what became of the suite in one class.
type classReport struct {
	Class    policy.Class     `json:"class"`
	Reached  bool             `json:"reached"`
	Reason   string           `json:"reason,omitempty"` // why not
	Findings []escape.Finding `json:"findings"`
}

// escapeReport is what --escape --json prints.
type escapeReport struct {
	Schema  string        `json:"schema"` // murmur.escape/1
	Classes []classReport `json:"classes"`
}

func escapeAction(c *ucli.Context, env cli.Env) error {
	class, err := policy.ParseClass(c.String("containment"))
	switch {
	case err != nil:
		return diag.Usagef("--containment: %s", err)
	case class == policy.Unconfined:
		return diag.Usagef("--containment unconfined promises nothing that could be tried")
	case c.IsSet("manifest") || c.Bool("strict") || c.Bool("fix"):
		return diag.Usagef("--escape looks at no project and repairs nothing: it goes with --containment, --result and --json alone")
	}
	return runEscape(c.Context, env, class, c.String("result"), c.Bool("json"))
}

// runEscape runs the suite in one class, or with none in each that the host
// reaches, with the mur-shell beside this program (CON-272). A class that was
// asked for and is not reached is an error; no result file is written then.
func runEscape(ctx context.Context, env cli.Env, class policy.Class, result string, asJSON bool) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program's own file can not be found: %w", err)
	}
	shell := filepath.Join(filepath.Dir(self), "mur-shell")
	if _, err := os.Stat(shell); err != nil {
		return diag.Errorf("", "the probes run through mur-shell, and there is none beside mur-doctor: %w", err).Hint("install both programs into one directory")
	}
	classes := []policy.Class{policy.Advisory, policy.Scoped, policy.Sealed}
	if class != policy.Unstated {
		classes = []policy.Class{class}
	}
	report := escapeReport{Schema: "murmur.escape/1", Classes: []classReport{}}
	for _, c := range classes {
		found, err := escape.Run(ctx, escape.Options{Shell: shell, Probe: []string{self, ProbeWord}, Class: c})
		switch {
		case errors.Is(err, escape.ErrNotReached) && class == policy.Unstated:
			report.Classes = append(report.Classes, classReport{Class: c, Reason: err.Error(), Findings: []escape.Finding{}})
		case err != nil:
			return fmt.Errorf("the probes of class %s could not run: %w", c, err)
		default:
			report.Classes = append(report.Classes, classReport{Class: c, Reached: true, Findings: found})
		}
	}
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if result != "" {
		if err := os.WriteFile(result, text, 0o644); err != nil {
			return diag.Errorf("E-IO-002", "the result can not be written: %w", err).In("check")
		}
	}
	if asJSON {
		_, err = env.Stdout.Write(text)
	} else {
		err = renderEscape(env.Stdout, report)
	}
	if err != nil {
		return err
	}
	if status := report.status(); status != 0 {
		return cli.Exit(status)
	}
	return nil
}

// status is that of CON-273: a boundary that did not hold wins over a resource.
func (r escapeReport) status() int {
	status := 0
	for _, c := range r.Classes {
		for _, f := range c.Findings {
			switch {
			case f.Status != escape.Differs:
			case f.Kind == escape.Boundary:
				return exitBoundary
			default:
				status = exitResource
			}
		}
	}
	return status
}

// renderEscape prints what did not hold and what could not be tried, and a line
// for each class.
func renderEscape(w io.Writer, r escapeReport) error {
	for _, c := range r.Classes {
		if !c.Reached {
			if _, err := fmt.Fprintf(w, "%s: %s\n", c.Class, c.Reason); err != nil {
				return err
			}
			continue
		}
		count := map[escape.Status]int{}
		for _, f := range c.Findings {
			count[f.Status]++
			var err error
			switch f.Status {
			case escape.Differs:
				_, err = fmt.Fprintf(w, "differs  %s %s: owed %q, got %q %s\n", f.ID, f.What, f.Owed, f.Answer, f.Detail)
			case escape.NotRun:
				_, err = fmt.Fprintf(w, "not run  %s %s: %s\n", f.ID, f.What, f.Detail)
			}
			if err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "%s: %d attempts answered as owed, %d differ, %d could not be run, %d are of no claim\n",
			c.Class, count[escape.Held], count[escape.Differs], count[escape.NotRun], count[escape.NoClaim]); err != nil {
			return err
		}
	}
	return nil
}
