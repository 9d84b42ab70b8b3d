package policy

// Interpreters are the programs whose own file calls the read-only analyser can
// not see (CON-256).
func Interpreters() []string {
	return []string{
		"bash", "sh", "zsh", "fish", "dash", "ksh", "python", "python3", "perl", "ruby", "node", "deno", "bun",
		"php", "awk", "gawk", "mawk", "lua", "tclsh", "Rscript",
	}
}
