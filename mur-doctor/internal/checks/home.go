package checks

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/workfs"
)

// homeUsable looks whether the murmur home, or the nearest directory above it
// that exists, is this user's and can be written. It makes nothing (SES-14).
func homeUsable(home string) Check {
	var st unix.Stat_t
	for dir := home; ; dir = filepath.Dir(dir) {
		err := unix.Lstat(dir, &st)
		if err == unix.ENOENT && dir != "/" {
			continue
		}
		var e *diag.Error
		switch {
		case err != nil:
			e = diag.Errorf("E-IO-003", "the murmur home %s can not be looked at: %w", home, err)
		case st.Mode&unix.S_IFMT != unix.S_IFDIR:
			e = diag.Errorf("E-IO-003", "the murmur home %s is unusable: %s is not a directory", home, dir)
		case dir == home && int(st.Uid) != os.Getuid():
			e = diag.Errorf("E-IO-003", "the murmur home %s belongs to uid %d", home, st.Uid)
		case unix.Access(dir, unix.W_OK|unix.X_OK) != nil:
			e = diag.Errorf("E-IO-003", "the murmur home %s can not be written: %s is not writable", home, dir)
		case dir == home:
			return ok("home", "the murmur home is "+home)
		default:
			return ok("home", fmt.Sprintf("the murmur home %s will be made in %s", home, dir))
		}
		return fault("home", Failed, e.Hint("set MURMUR_HOME to a directory of yours"))
	}
}

// configuration reads both config files and says who else can reach the secrets
// in the global one and in the project's .env (W-SEC-028).
func configuration(env cli.Env, home workfs.Home) (config.Config, []Check) {
	c, warnings, err := config.Load(home, env.Dir)
	if err != nil {
		return c, []Check{fault("config", Failed, err)}
	}
	rows := warned("config", warnings)
	there := false
	for _, path := range []string{c.GlobalFile, c.ProjectFile} {
		if fi, err := os.Lstat(path); err == nil {
			there = true
			rows = append(rows, ok("config", "the configuration parses").about(path))
			if path == c.GlobalFile && holdsSecret(c) {
				rows = append(rows, private(path, fi.Mode()))
			}
		}
	}
	if !there {
		rows = append(rows, ok("config", "no configuration; every default holds"))
	}
	return c, rows
}

// holdsSecret tells whether the value of a credential is written in the global
// file.
func holdsSecret(c config.Config) bool {
	if len(c.CredentialNames()) > 0 {
		return true
	}
	for _, src := range c.Registry.Sources {
		if src.HasToken && !isReference(src.Token) {
			return true
		}
	}
	return false
}

func isReference(s manifest.Secret) bool { return len(s.Reveal()) > 1 && s.Reveal()[:2] == "${" }

// private is a row about a file that holds secrets.
func private(path string, mode fs.FileMode) Check {
	w, open := config.ModeWarning(path, mode)
	if !open {
		return ok("secrets", "holds secrets and is this user's alone").about(path)
	}
	return Check{Name: "secrets", Subject: path, Status: Warning, Code: w.Code, Message: w.Message, Remedy: "chmod 600 " + path, fix: chmod(path, unix.S_IFREG, 0o600)}
}

// envFile is about the project's .env: whether it parses, and who can read it.
// The names it sets are returned merged into the environment (MAN-293).
func envFile(env cli.Env) (environ []string, rows []Check) {
	path, data, err := config.FindEnvFile(env.Dir)
	switch {
	case err != nil:
		return env.Environ, []Check{fault("env-file", Failed, err)}
	case path == "":
		return env.Environ, nil
	}
	lines, err := config.ParseEnv(path, data)
	if err != nil {
		return env.Environ, []Check{fault("env-file", Failed, err).about(path)}
	}
	rows = append(rows, ok("env-file", fmt.Sprintf("sets %d variables", len(lines))).about(path))
	if fi, err := os.Lstat(path); err == nil && len(lines) > 0 {
		rows = append(rows, private(path, fi.Mode()))
	}
	return config.MergeEnv(env.Environ, lines), rows
}
