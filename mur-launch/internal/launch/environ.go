package launch

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// maxEnvFile bounds an environment file.
const maxEnvFile = 1 << 20

// environment is the host's environment with the variables of the .env file the
// document names, which set only what is not set (SES section 5.2, step 1). A
// file that is not the one staged is E-STG-102.
func environment(environ []string, file *session.EnvFile, skip bool) ([]string, error) {
	if file == nil || skip {
		return environ, nil
	}
	text, err := workfs.ReadFile(file.Path, maxEnvFile)
	if err != nil {
		return nil, changedEnv(file, "nothing that can be read")
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != file.SHA256 {
		return nil, changedEnv(file, hex.EncodeToString(sum[:]))
	}
	vars, err := config.ParseEnv(file.Path, text)
	if err != nil {
		return nil, err
	}
	return config.MergeEnv(environ, vars), nil
}

func changedEnv(file *session.EnvFile, found string) error {
	return diag.Errorf("E-STG-102", "%s is not what was staged: its hash was %s and is %s", file.Path, file.SHA256, found).
		Hint("stage the capsule again, or launch with --no-env-file").
		Name("path", file.Path).Name("expected", file.SHA256).Name("found", found)
}
