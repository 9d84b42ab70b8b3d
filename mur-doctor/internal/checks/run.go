package checks

import (
	"context"

	"github.com/mur-capsules/mur/lib/cli"
)

// Options say what to look at beside the host.
type Options struct {
	Manifest string // "": ./murmur.yaml when it exists, else no project
	Strict   bool   // unknown keys fail
}

// Run gathers and checks. What is wrong is in the report, never an error.
func Run(ctx context.Context, env cli.Env, o Options) *Report {
	r := &Report{Schema: "murmur.doctor/1"}
	r.Host, r.Checks = gatherHost(env)
	project, rows := gatherProject(ctx, env, o, r.Host)
	r.Project = project
	r.Checks = append(r.Checks, rows...)
	return r
}
