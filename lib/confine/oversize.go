package confine

import "github.com/mur-capsules/mur/lib/diag"

// Oversize is the E-RUN-013 of a work folder that has grown above
// workdir_max_bytes: nothing more is started, and the session ends (CON-194).
func Oversize(work string, found, limit int64) *diag.Error {
	return diag.Errorf("E-RUN-013", "the work folder %s holds %d bytes, more than capabilities.resources.workdir_max_bytes = %d; no further command starts", work, found, limit).
		Hint("make room, or raise capabilities.resources.workdir_max_bytes").
		In("session").About(diag.Subject{Kind: diag.Path, Name: work}).Name("measured", found).Name("limit", limit)
}
