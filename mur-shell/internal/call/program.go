package call

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Program is the file a call starts: Path is executed as it was found, so that
// programs that look at their own path go on working; Binary is the canonical
// path that is reported (SHL-40).
type Program struct{ Path, Binary string }

// Lookup finds an entry: on pathList, or as it is when it holds a slash, relative
// to dir (SHL-41). Of a name that is on PATH only as files nobody may execute the
// error is fs.ErrPermission, else fs.ErrNotExist (SHL-42).
func Lookup(entry, pathList, dir string) (Program, error) {
	var candidates []string
	if strings.Contains(entry, "/") {
		if !filepath.IsAbs(entry) {
			entry = filepath.Join(dir, entry)
		}
		candidates = []string{entry}
	} else {
		for _, d := range filepath.SplitList(pathList) {
			if filepath.IsAbs(d) {
				candidates = append(candidates, filepath.Join(d, entry))
			}
		}
	}
	var reason error = fs.ErrNotExist
	for _, c := range candidates {
		st, err := os.Stat(c)
		if err != nil || st.IsDir() {
			continue
		}
		if st.Mode()&0o111 == 0 {
			reason = fs.ErrPermission
			continue
		}
		real, err := filepath.EvalSymlinks(c)
		if err != nil {
			continue
		}
		return Program{Path: c, Binary: real}, nil
	}
	return Program{}, reason
}
