package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/workfs"
)

// EnvFileName is the name of a project's environment file.
const EnvFileName = ".env"

// FindEnvFile returns the .env file that belongs to the absolute directory dir:
// the one beside the nearest murmur.yaml at or above it, and the file's bytes
// (MAN-293). The path is empty when there is no such manifest or it has no .env
// beside it. A file that can not be read is E-IO-002 or E-IO-003.
func FindEnvFile(dir string) (path string, data []byte, err error) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		_, err := os.Lstat(filepath.Join(at, manifest.FileName))
		if err == nil {
			path = filepath.Join(at, EnvFileName)
			break
		}
		if at == filepath.Dir(at) {
			return "", nil, nil
		}
	}
	data, err = workfs.ReadFile(path, manifest.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, nil
	case err != nil:
		return "", nil, workfs.Fault(err, "cannot read the environment file")
	}
	return path, data, nil
}

// ParseEnv reads the lines of an environment file as KEY=VALUE strings in
// written order: blank lines and lines that begin with # are skipped, key and
// value are trimmed, and one pair of matching quotes around the value is
// removed. A line without =, or whose key is empty or holds white space, and a
// NUL anywhere, is E-IO-003 naming the line and never what it holds. mur-stage
// and mur-launch call it.
func ParseEnv(path string, data []byte) ([]string, error) {
	var out []string
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		refuse := func(reason string) error {
			return diag.Errorf("E-IO-003", "%s:%d: the line %s", path, i+1, reason).
				Hint("write KEY=VALUE, or begin a remark with #").
				About(diag.Subject{Kind: diag.Path, Name: path, File: path, Line: i + 1}).
				Name("path", path).Name("line", i+1).Name("reason", reason)
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok:
			return nil, refuse("has no =")
		case key == "":
			return nil, refuse("has nothing before =")
		case strings.ContainsAny(key, " \t"):
			return nil, refuse("has white space in its key")
		case strings.Contains(line, "\x00"):
			return nil, refuse("holds a NUL character")
		}
		if n := len(value); n >= 2 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
			value = value[1 : n-1]
		}
		out = append(out, key+"="+value)
	}
	return out, nil
}

// MergeEnv returns environ with the variables of an environment file that it
// does not set. Of a name doubled in the file the first counts: by then it is
// set.
func MergeEnv(environ, file []string) []string {
	set := map[string]bool{}
	out := append([]string{}, environ...)
	for _, kv := range environ {
		key, _, _ := strings.Cut(kv, "=")
		set[key] = true
	}
	for _, kv := range file {
		if key, _, _ := strings.Cut(kv, "="); !set[key] {
			set[key] = true
			out = append(out, kv)
		}
	}
	return out
}
