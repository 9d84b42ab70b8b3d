package manifest

import "github.com/mur-capsules/mur/lib/diag"

// Parse reads a capsule manifest. File is the absolute path it came from and
// stands in messages alone. The warnings are those of unknown keys (W-SEC-019)
// and the plain ones of retired or ignored keys, in document order; they are
// returned beside an error too. The error is a *diag.Error with E-MAN-001,
// E-MAN-002, E-MAN-003, E-CAP-018 or E-RUN-006 (MAN-32), or several joined with Options.All.
// mur-stage, mur-doctor and mur-lock call it.
func Parse(file string, data []byte, opts Options) (*Capsule, []diag.Warning, error) {
	return nil, nil, diag.Errorf("E-MAN-002", "%s: reading capsule manifests is not built yet", file)
}

// ArtifactOptions say how an artifact manifest is read.
type ArtifactOptions struct {
	Options
	// Pack applies the rules of mur-lock pack: runtime is required and known,
	// implementation is known (MAN-240, MAN-241), and the hook contract holds.
	Pack bool
}

// ParseArtifact reads an artifact's own manifest. A capsule's keys beside it are
// known and not looked at (MAN-5, MAN-6). The error is a *diag.Error with
// E-MAN-001, E-MAN-002 or E-MAN-003, and with Pack also E-BLD-004 (MAN-268).
// mur-lock calls it when packing, mur-stage for each resolved artifact; name is
// the file, or name@version and the archive.
func ParseArtifact(name string, data []byte, opts ArtifactOptions) (*Artifact, []diag.Warning, error) {
	return nil, nil, diag.Errorf("E-MAN-002", "%s: reading artifact manifests is not built yet", name)
}

// Config is an entry's config block (section 4.4), kept as written until it is
// lowered at stage time.
type Config struct{ value *value }

type value struct{}

type contractWords struct{}

type authBlock struct{}

func contains(words []string, w string) bool {
	for _, v := range words {
		if v == w {
			return true
		}
	}
	return false
}

func list(words []string) string {
	out := ""
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			out += " or "
		default:
			out += ", "
		}
		out += w
	}
	return out
}
