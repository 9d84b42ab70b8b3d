package checks

import (
	"context"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Options say what to look at beside the host.
type Options struct {
	Manifest string // "": ./murmur.yaml when it exists, else no project
	Strict   bool   // unknown keys fail
	Fix      bool   // put right what is safe to
}

// Run gathers and checks. What is wrong is in the report, never an error. What
// does not need one another is gathered side by side.
func Run(ctx context.Context, env cli.Env, o Options) *Report {
	r := &Report{Schema: "murmur.doctor/1"}
	path, hasProject := findManifest(env, o)
	var host, commands, home, project, staging, leftovers []Check
	var wg sync.WaitGroup
	wg.Go(func() { r.Host, host = gatherHost() })
	wg.Go(func() { commands = gatherCommands(ctx, env, hasProject) })
	if hasProject {
		wg.Go(func() { staging = predictStaging(ctx, env, o) })
	}
	murmur, err := workfs.FindHome(env.Environ)
	if err != nil {
		home = []Check{fault("home", Failed, err)}
	} else {
		dir := ""
		if hasProject {
			dir = filepath.Dir(path)
		}
		wg.Go(func() { leftovers = gatherLeftovers(ctx, env, murmur, dir) })
		var c config.Config
		c, home = configuration(env, murmur)
		home = append([]Check{homeUsable(murmur.Path())}, home...)
		if hasProject {
			r.Project, project = gatherProject(ctx, env, o, path, murmur, c)
		}
	}
	wg.Wait()
	r.Host.MurmurHome = murmur.Path()
	r.Checks = slices.Concat(host, commands, home, leftovers, project)
	r.Checks = append(r.Checks, unsaid(r.Checks, staging)...)
	if o.Fix {
		fix(r.Checks)
	}
	return r
}
