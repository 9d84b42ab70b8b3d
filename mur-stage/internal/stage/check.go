package stage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/spend"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Check makes every check a staging would make and stages nothing: it creates no
// file but what a bundle is unpacked to, and a guest that a staging would compile it
// has validated alone (SES-271). Where Stage stops at the first refusal, Check goes
// on with every check that does not need what was refused, so the list holds the one
// Stage would give, in the order of the steps.
func Check(ctx context.Context, in Input, host Host, opts Options) ([]diag.Warning, []error) {
	s := &staging{in: in, host: host, opts: opts, check: true}
	defer s.releaseBundle()
	defer s.held.close()
	c := &collector{ctx: ctx}
	c.all(s)
	return s.warnings, c.refusals
}

// collector runs steps and keeps what they refuse.
type collector struct {
	ctx      context.Context
	refusals []error
}

// try runs every step and reports whether all passed.
func (c *collector) try(steps ...step) bool {
	passed := true
	for _, do := range steps {
		if err := inOrder(c.ctx, do); err != nil {
			passed = false
			c.keep(err)
		}
	}
	return passed
}

func (c *collector) keep(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			c.keep(e)
		}
		return
	}
	said := func(o error) bool { return o.Error() == err.Error() && diag.CodeOf(o) == diag.CodeOf(err) }
	if !slices.ContainsFunc(c.refusals, said) {
		c.refusals = append(c.refusals, err)
	}
}

func (c *collector) all(s *staging) {
	for _, must := range []step{s.openBundle, s.openPackage, pure(s.readManifest), pure(s.checkOptions), pure(s.findHome), pure(s.findPlaces)} {
		if !c.try(must) {
			return
		}
	}
	sound := c.try(pure(s.readTrust), pure(s.readLock))
	c.try(pure(s.checkEnvironment))
	sound = c.try(s.checkArtifacts) && sound
	found := c.try(pure(s.findComponent))
	sound = c.manifest(s) && sound
	if sound && c.try(s.resolveArtifacts) {
		c.try(pure(s.lowerGrants), pure(s.lookSpend), pure(s.resolveCredentials))
		if c.try(pure(s.resolveDrivers)) {
			c.try(pure(s.resolvePrompts))
		}
	} else {
		c.try(pure(s.lookSpend), pure(s.findCredentials))
	}
	if found {
		c.try(s.compileComponent)
	}
	if c.try(pure(s.openPlaces)) {
		c.try(pure(s.readInstructions))
	}
	c.try(pure(s.lookWritable), pure(s.foreseeShell), pure(s.foreseeScope))
}

// manifest makes the checks of what the manifest asks for and reports whether
// artifacts can be held against it.
func (c *collector) manifest(s *staging) bool {
	if !c.try(pure(s.resolveNetwork)) {
		c.try(pure(s.decideClass), pure(s.checkNames), pure(s.checkEnv), pure(s.checkExports), pure(s.checkRuntimes), pure(s.resolveHostPaths))
		return false
	}
	c.try(
		pure(s.decideClass), pure(s.nameStores), pure(s.checkNames), pure(s.checkEnv), pure(s.lowerConfigs), pure(s.resolvePreopens),
		pure(s.checkExports), pure(s.checkRuntimes), s.findPrograms, pure(s.checkNamespace), pure(s.lowerReadOnly),
		pure(s.resolveHostPaths), pure(s.warnCapsule), pure(s.refuseUnbuilt),
	)
	return true
}

// foreseeShell finds the program a launch would run commands with.
func (s *staging) foreseeShell() error {
	if !s.runsProcesses() {
		return nil
	}
	_, err := s.host.Shell(s.in.Environ)
	return err
}

// foreseeScope looks whether a launch in this process's place could bound what the
// session runs (CON-178).
func (s *staging) foreseeScope() error {
	if !s.reading.Linux() || !s.runsProcesses() || !confine.NeedsScope(s.decision.Declared, s.policy.DeclaredResources) {
		return nil
	}
	if err := s.reading.Cgroup.Missing(); err != nil {
		return confine.ScopeRefusal(err)
	}
	return nil
}

// runsProcesses tells whether the session could start one (SES-107).
func (s *staging) runsProcesses() bool {
	return s.policy.RunsProcesses() || slices.ContainsFunc(s.artifacts, func(a staged) bool { return a.native() })
}

// findCredentials looks the credentials up when the artifacts that use them could
// not be read.
func (s *staging) findCredentials() error {
	var missing []error
	for _, e := range s.entries() {
		if e.Gateway != nil {
			_, err := credential(e, s.file, s.config, s.environ)
			missing = append(missing, err)
		}
	}
	return errors.Join(missing...)
}

// lookSpend is openSpend without making the ledger.
func (s *staging) lookSpend() error {
	if !s.agent() || s.config.MachineTokensPerDay == nil && s.config.TreeTokens == nil {
		return nil
	}
	if _, err := spend.Used(s.home, s.in.Now()); err != nil {
		return s.spendFault(err)
	}
	return nil
}

// lookWritable looks whether the folders a staging makes can be made, by the
// directories that are there.
func (s *staging) lookWritable() error {
	if s.workdir == "" {
		if err := writable(s.root); err != nil {
			return workfs.Fault(err, "cannot make the folder of work folders")
		}
	}
	if err := writable(s.home.Path()); err != nil {
		return workfs.Fault(err, "cannot make the session directory")
	}
	if s.pkg != nil || s.lockFound || s.opts.NoLockWrite {
		return nil
	}
	return workfs.Fault(writable(s.dir), "cannot write "+s.lockPath())
}

// writable tells whether this process can make something in dir, or in the
// nearest directory above it that exists.
func writable(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		fi, err := os.Stat(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue
		}
		if err == nil && !fi.IsDir() {
			err = unix.ENOTDIR
		}
		if err == nil {
			err = unix.Access(at, unix.W_OK|unix.X_OK)
		}
		if err != nil {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: err}
		}
		return nil
	}
}
