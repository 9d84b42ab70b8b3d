package stage

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// decideClass reads the host, once, and decides the containment class (step 9).
// An explanation only reports an unmet floor.
func (s *staging) decideClass() error {
	s.reading = s.host.Probe()
	var declared policy.Class
	declared, s.votes = policy.Floor(
		policy.Vote{Source: policy.FromManifest, Class: containmentOf(s.capsule.Capabilities)},
		policy.Vote{Source: policy.FromGlobalConfig, Class: s.config.GlobalContainment},
		policy.Vote{Source: policy.FromProjectConfig, Class: s.config.ProjectContainment},
		policy.Vote{Source: policy.FromFlag, Class: s.opts.Containment},
	)
	s.policy.ContainmentFloor = declared
	s.decision = confine.Decide(s.reading, declared, s.caps())
	if s.explain {
		return nil
	}
	return s.decision.Refusal()
}

func containmentOf(c *policy.Capabilities) policy.Class {
	if c == nil {
		return policy.Unstated
	}
	return c.Containment
}

// caps are the grants that lower the class: an executable work folder, and a
// murmur home that commands could change (CON-33, CON-34).
func (s *staging) caps() []confine.Cap {
	caps := []confine.Cap{}
	if s.policy.WorkdirExec {
		caps = append(caps, confine.Cap{
			Key: "capabilities.filesystem.workdir_exec", Reason: "code in the work folder can be executed, so shell.allow does not bind it",
		})
	}
	if c, ok := homeCap(s.home.Path(), s.workFolder("")); ok {
		caps = append(caps, c)
	}
	return caps
}

// homeCap tells whether the murmur home is, contains or lies in the work folder.
// A delegated child's folder lies in the home by design.
func homeCap(home, work string) (confine.Cap, bool) {
	inside := within(home, work)
	if child := string(filepath.Separator) + "children" + string(filepath.Separator); within(work, filepath.Join(home, session.RecordsDir)) && strings.Contains(work, child) {
		return confine.Cap{}, false
	}
	if !inside && !within(work, home) {
		return confine.Cap{}, false
	}
	return confine.Cap{
		Key:    "MURMUR_HOME",
		Reason: fmt.Sprintf("the murmur home %s and the work folder %s overlap, so commands could change what the runtime owns", home, work),
	}, true
}

// within tells whether path is dir or lies beneath it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// realPath resolves the links of the part of path that exists.
func realPath(path string) string {
	rest := ""
	for p := path; ; p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if p == filepath.Dir(p) {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// checkNamespace wants a network namespace for every capsule that can run a
// process: nothing else holds its allow list (step 20, CON-41).
func (s *staging) checkNamespace() error {
	if !s.reading.Linux() || s.reading.NetNS || s.decision.Declared == policy.Unconfined {
		return nil
	}
	for _, a := range s.artifacts {
		if a.native() {
			return namespaceFault("the native tool "+a.ref(), "drop the native tool", s.reading.NetworkBlocker)
		}
	}
	if !s.policy.RunsProcesses() {
		return nil
	}
	return namespaceFault("capabilities.shell.allow or spawn.allow", "drop shell.allow and spawn.allow", s.reading.NetworkBlocker)
}

func namespaceFault(what, instead string, b *confine.Blocker) error {
	reason, remedy := "the kernel does not support network namespaces", "use a kernel with CONFIG_NET_NS and CONFIG_USER_NS"
	if b != nil {
		if b.Errno != 0 {
			reason = "this process may not make a network namespace"
			remedy = "allow user namespaces to mur, or in a container add the SYS_ADMIN capability"
		}
		if r := b.Remedy(); r != "" {
			remedy = r
		}
		reason += fmt.Sprintf(" (%s at %s, errno %d)", b.Name, b.Step, b.Errno)
	}
	return diag.Errorf("E-CAP-005", "%s starts processes, and nothing can keep them to capabilities.network.allow here, an empty list included: %s", what, reason).
		Hint("%s", remedy).Hint("or %s", instead).
		In("check").About(diag.Subject{Kind: diag.Host, Name: "network namespace"}).Name("condition", reason).Name("fix", remedy)
}

// runAs is who commands run as (CON-278).
func (s *staging) runAs() confine.RunAs {
	return confine.ChooseUser(s.reading, s.decision.Declared, s.workFolder(s.id), workfs.Owner)
}
