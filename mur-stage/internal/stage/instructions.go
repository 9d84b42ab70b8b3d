package stage

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mur-capsules/mur/lib/workfs"
)

// maxWalk bounds how many directories are looked through for instruction files.
const maxWalk = 20000

// instructionPaths lists the files an instruction_files list names beneath the
// work folder (MAN-315): entries in declared order; one without a slash names the
// file so called in every folder, root first, then in byte order of paths. No
// link is followed or counted.
func instructionPaths(root *workfs.Root, entries []string) ([]string, error) {
	var nested []string
	for _, e := range entries {
		if !strings.Contains(e, "/") {
			nested = append(nested, e)
		}
	}
	found := map[string][]string{}
	if len(nested) > 0 {
		if err := walk(root, nested, found); err != nil {
			return nil, err
		}
	}
	var out []string
	add := func(p string) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, e := range entries {
		if strings.Contains(e, "/") {
			if fi, err := root.Stat(e); err == nil && fi.IsRegular() {
				add(e)
			}
			continue
		}
		// A path without a slash lies in the root and comes first.
		slices.SortFunc(found[e], func(a, b string) int {
			if da, db := strings.Contains(a, "/"), strings.Contains(b, "/"); da != db {
				if db {
					return -1
				}
				return 1
			}
			return strings.Compare(a, b)
		})
		for _, p := range found[e] {
			add(p)
		}
	}
	return out, nil
}

func walk(root *workfs.Root, names []string, found map[string][]string) error {
	queue := []string{"."}
	for n := 0; len(queue) > 0 && n < maxWalk; n++ {
		dir := queue[0]
		queue = queue[1:]
		entries, err := root.List(dir)
		if err != nil {
			if dir == "." {
				return err
			}
			continue // unreadable, or gone meanwhile
		}
		for _, e := range entries {
			p := e.Name
			if dir != "." {
				p = dir + "/" + e.Name
			}
			switch {
			case e.IsDir():
				queue = append(queue, p)
			case e.IsRegular() && slices.Contains(names, e.Name):
				found[e.Name] = append(found[e.Name], p)
			}
		}
	}
	return nil
}

// isText tells whether data is UTF-8 without NUL.
func isText(data []byte) bool { return utf8.Valid(data) && !slices.Contains(data, 0) }
