package policy

import "slices"

// TakesShellLine tells whether an entry of shell.allow is an interpreter that is
// handed its command as a whole line (SHL-37).
func TakesShellLine(entry string) bool {
	return slices.Contains([]string{"bash", "sh", "zsh", "fish", "dash", "ksh"}, entry)
}

// Interpreters are the programs whose own file calls the read-only analyser can
// not see (CON-256).
func Interpreters() []string {
	return []string{
		"bash", "sh", "zsh", "fish", "dash", "ksh", "python", "python3", "perl", "ruby", "node", "deno", "bun",
		"php", "awk", "gawk", "mawk", "lua", "tclsh", "Rscript",
	}
}
