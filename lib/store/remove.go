package store

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Remove takes one version of an artifact out of the store, for every platform.
// Readers that have begun are waited for until ctx ends; whoever looks in the
// middle, or after a killed Remove, finds the version whole or not at all. An
// absent one is success.
func (s *Store) Remove(ctx context.Context, ref artifact.Ref) error {
	err := s.remove(ctx, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return workfs.Fault(err, "cannot remove "+ref.String()+" from the "+s.label+" store")
}

func (s *Store) remove(ctx context.Context, ref artifact.Ref) error {
	root, err := s.open(false)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := root.Sub(versionDir(ref))
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := dir.Lock(ctx, guardName)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := recoverWrite(dir); err != nil {
		return err
	}
	entries, err := dir.List(".")
	if err != nil {
		return err
	}
	// Without its hash an archive counts for nothing (ART-55, ART-58).
	for _, e := range entries {
		if strings.HasSuffix(e.Name, hashSuffix) {
			if err := dir.Remove(e.Name); err != nil {
				return err
			}
		}
	}
	if err := root.RemoveAll(versionDir(ref)); err != nil {
		return err
	}
	for _, empty := range []string{ref.Full.Scope + "/" + ref.Full.Name, ref.Full.Scope} {
		_ = root.Remove(empty) // fails where something else is left
	}
	return nil
}
