package stage

import (
	"os"
	"path/filepath"

	"github.com/mur-capsules/mur/lib/diag"
)

// resolveHostPaths checks the directories the global configuration lends to
// every session (CON-89, CON-90, SES-49).
func (s *staging) resolveHostPaths() error {
	for _, path := range s.config.HostPaths {
		if reason := hostPathFault(path, s.home.Path(), s.workFolder("")); reason != "" {
			return diag.Errorf("E-MAN-003", "host_paths: the path %s in %s can not be lent: %s", diag.Quote(path), s.config.GlobalFile, reason).
				In("check").About(diag.Subject{Kind: diag.ConfigKey, Name: "host_paths", File: s.config.GlobalFile}).
				Name("path", path).Name("config", s.config.GlobalFile).Name("reason", reason)
		}
	}
	s.policy.HostPaths = append([]string{}, s.config.HostPaths...)
	return nil
}

// hostPathFault says why a directory can not be lent, or "".
func hostPathFault(path, home, work string) string {
	if !filepath.IsAbs(path) {
		return "it is not absolute"
	}
	fi, err := os.Lstat(path)
	switch {
	case err != nil:
		return "it can not be examined: " + err.Error()
	case fi.Mode()&os.ModeSymlink != 0:
		return "it is a link"
	case !fi.IsDir():
		return "it is no directory"
	}
	real := realPath(filepath.Clean(path))
	for _, own := range []struct{ what, dir string }{{"the murmur home", home}, {"the work folder", work}} {
		if within(real, own.dir) || within(own.dir, real) {
			return "it is, holds or lies in " + own.what + " " + own.dir
		}
	}
	return ""
}
