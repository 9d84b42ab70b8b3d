package running

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/workfs"
)

// Found is what Look found of the records directory.
type Found struct {
	Records []Record // newest session first
	Broken  []string // names of files that parse as no record
	Dead    []string // names of files that a writer which is gone left unfinished
}

// Look is List that removes nothing.
func Look(home workfs.Home, host Host) (Found, error) {
	var f Found
	err := each(home, func(dir *workfs.Root, name string, rec Record, v verdict) {
		switch v {
		case whole:
			f.Records = append(f.Records, rec)
		case broken:
			f.Broken = append(f.Broken, name)
		}
	}, func(name string) {
		if _, pid, ok := strings.Cut(name, ".json.writing-"); ok {
			if n, err := strconv.Atoi(pid); err == nil && n > 0 && !host.Exists(n) {
				f.Dead = append(f.Dead, name)
			}
		}
	})
	sortRecords(f.Records)
	return f, err
}

// RemoveDead removes a file that Look found broken or dead.
func RemoveDead(home workfs.Home, name string) error {
	dir, err := home.OpenExisting(Dir, workfs.Options{})
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return workfs.Fault(err, "cannot remove the running record")
	}
	return nil
}
