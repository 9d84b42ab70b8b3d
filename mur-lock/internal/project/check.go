package project

import (
	"fmt"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
)

// CheckScope checks a --scope (ART-64).
func CheckScope(scope string) error {
	err := names.CheckScope(scope)
	if err == nil && scope == names.Builtin {
		err = fmt.Errorf("is the product's own")
	}
	if err != nil {
		return diag.Usagef("--scope %s %s", diag.Quote(scope), err)
	}
	return nil
}

// CheckNativePlatform refuses a native payload without a platform (ART-124).
func CheckNativePlatform(it *store.Item) error {
	if it.Manifest.Kind != manifest.Native || it.Platform != artifact.UnknownPlatform {
		return nil
	}
	return diag.Errorf("E-IO-003", "%s is a native program, and this host's platform has no tag", it.Ref).
		Hint("name the platform it was built for: --platform <one of %v>", artifact.Platforms()).
		About(it.Ref.Subject()).Name("name@version", it.Ref.String()).Name("reason", "unknown platform")
}

// ForPlatform is " for <tag>" in a line for people, or nothing.
func ForPlatform(tag string) string {
	if tag == "" {
		return ""
	}
	return " for " + tag
}
