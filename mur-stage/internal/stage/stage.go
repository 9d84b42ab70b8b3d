// Package stage turns a capsule's manifest into a session that is ready to run:
// it checks, verifies, decides, compiles and lays out, in the order of SES
// section 3.2, and returns the staged-session document.
//
// It promises that a refused staging leaves nothing of its own behind but shared
// caches, that nothing exists on disk before every check has passed, that no
// artifact is opened before every check that needs none has passed, and that the
// document grants exactly what the operator's manifest grants on this host. What
// a manifest asks for and this version can not do is refused by name. Package
// stage asks no network and runs no guest.
//
// Each group of steps is a file. What a step decides is a function over plain
// values where that is possible; the methods of staging gather the values and
// carry the decision out.
package stage

import (
	"context"
	"time"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/grants"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/forms"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

// Options are what the operator asks for on the command line. Empty is absent.
type Options struct {
	Bundle          string        // file, digest or address of a bundle to stage in place of a project
	Manifest        string        // path; murmur.yaml when empty
	Capsule         *artifact.Ref // an installed capsule in place of a manifest
	CapsuleSHA256   string        // the hash its archive must have
	Workdir         string
	WorkdirIdentity *session.Identity
	Task            *string
	Context         string
	Stores          []string // replace project and global store
	Bind            string
	Containment     policy.Class
	SystemPrompt    *string
	TaskAcceptance  string
	AfterTask       string
	DeadlineSecs    int64 // 0 is none
	CaseID          string
	DatasetID       string
	Strict          bool
	NoEnvFile       bool
	NoLockWrite     bool
}

// Input is the process a staging runs in.
type Input struct {
	Environ []string // KEY=VALUE
	Dir     string   // working directory, absolute
	Now     func() time.Time
	Started time.Time // of the process; a deadline counts from here
	Version string    // of this program
	// Print writes the document to standard output; the session's lock is held
	// until it returns.
	Print func(document []byte) error
}

// Host is the machine a staging runs on. Tests replace its parts.
type Host struct {
	Probe    func() confine.Reading
	Programs grants.Host   // what is asked about allowed programs
	Formats  forms.Formats // the kinds of guests this build can run
	// Shell finds the program that a launch runs commands with; the error is the
	// refusal of a launch that has none.
	Shell func(environ []string) (string, error)
}

// Stage stages a session and prints its document. It returns the warnings raised
// until it ended, in order; an error is the refusal, and nothing was printed.
func Stage(ctx context.Context, in Input, host Host, opts Options) ([]diag.Warning, error) {
	s := &staging{in: in, host: host, opts: opts}
	defer s.releaseBundle()
	err := s.run(ctx)
	return s.warnings, err
}

// Explain makes the scope report of the session Stage would stage, without
// creating anything or opening an artifact (SES-75). An unmet floor is reported,
// not refused.
func Explain(ctx context.Context, in Input, host Host, opts Options) (confine.ScopeReport, []diag.Warning, error) {
	s := &staging{in: in, host: host, opts: opts, explain: true}
	defer s.releaseBundle()
	err := inOrder(ctx, s.checks()...)
	return s.report, s.warnings, err
}

// step is one step of SES section 3.2 or a few neighbours.
type step func(ctx context.Context) error

func inOrder(ctx context.Context, steps ...step) error {
	for _, do := range steps {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func pure(f func() error) step { return func(context.Context) error { return f() } }

// checks are steps 1 to 22: they look at the manifest, the lock, what is
// installed and the host, open no artifact and create nothing.
func (s *staging) checks() []step {
	steps := []step{
		s.openBundle,         // a capsule that is a bundle
		s.openPackage,        // a capsule launched by name
		pure(s.readManifest), // 2
		pure(s.checkOptions), // 1, where it needs the manifest
		pure(s.findHome),
		pure(s.findPlaces),       // configuration, work folder, records
		pure(s.readTrust),        // whose signatures count
		pure(s.readLock),         // 3
		pure(s.checkEnvironment), // 5
		s.checkArtifacts,         // 6, 12
		pure(s.findComponent),    // 7
		pure(s.resolveNetwork),   // 8
		pure(s.decideClass),      // 9
		pure(s.nameStores),       // 10
		pure(s.checkNames),       // 11
		pure(s.checkEnv),         // 13
		pure(s.lowerConfigs),     // 14
		pure(s.resolvePreopens),  // 15
		pure(s.makeReport),       // 16
		pure(s.checkExports),     // 17
		pure(s.checkRuntimes),    // 18
		s.findPrograms,           // 19
		pure(s.checkNamespace),   // 20
		pure(s.lowerReadOnly),    // 21
		pure(s.resolveHostPaths),
	}
	if s.explain {
		return append(steps, pure(s.makeReport))
	}
	return append(steps, pure(s.makeReport), pure(s.warnCapsule), pure(s.refuseUnbuilt)) // 22
}

func (s *staging) run(ctx context.Context) error {
	if err := inOrder(ctx, s.checks()...); err != nil {
		return err
	}
	defer s.held.close()
	if err := inOrder(ctx,
		s.resolveArtifacts,         // 23
		pure(s.lowerGrants),        // 24
		pure(s.mintSession),        // 25
		pure(s.openSpend),          // 26
		pure(s.resolveCredentials), // 27
		pure(s.resolveDrivers),     // 28
		pure(s.resolvePrompts),     // 30
		s.compileComponent,         // 31
		pure(s.openPlaces),         // 32
		pure(s.readInstructions),   // 33
	); err != nil {
		return err
	}
	err := inOrder(ctx,
		pure(s.sweepStale),
		pure(s.makeFolders),  // 34
		pure(s.writeTools),   // 35
		pure(s.annotate),     // 36
		pure(s.writeRuntime), // 38
		s.writeLock,          // 39
		pure(s.publish),      // 40
	)
	if err != nil {
		s.undo()
	}
	return err
}
