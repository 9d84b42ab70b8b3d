package escape

// Place is a test that tries a row which no run of mur-shell by itself can.
type Place struct{ File, Test string }

// Elsewhere are the rows that other tests of the project try: they need a staged
// session, a host that lacks something, or two commands at once. Files are
// relative to the project.
func Elsewhere() map[string]Place {
	const (
		session = "mur-shell/internal/serve/escape_test.go"
		serve   = "mur-shell/internal/serve/serve_test.go"
		app     = "mur-shell/internal/app/"
	)
	out := map[string]Place{
		"CON-P22":  {session, "TestMountsBelowAStagedRuntime"},
		"CON-P30":  {serve, "TestAnotherHostOrFolder"},
		"CON-P42":  {session, "TestDescriptorsOfANativeTool"},
		"CON-P96":  {"mur-shell/internal/probe/toolchains_test.go", "TestToolchains"},
		"CON-P116": {app + "run_test.go", "TestWorkFolderOutgrowsItsLimit"},
		"CON-P123": {session, "TestStagedRuntimeThatWent"},
		"CON-P124": {"mur-shell/internal/probe/broken_test.go", "TestBrokenSteps"},
		"CON-P125": {app + "lacking_test.go", "TestHostsThatLackAPiece"},
		"CON-P126": {serve, "TestAnotherHostOrFolder"},
		"CON-P127": {app + "lacking_test.go", "TestHostsThatLackAPiece"},
		"CON-P130": {"lib/confine/readonly/readonly_test.go", "TestInputs"},
		"CON-P135": {session, "TestNeighboursAreOutOfReach"},
	}
	for _, id := range []string{"CON-P12", "CON-P13", "CON-P14", "CON-P15", "CON-P16", "CON-P17", "CON-P18"} {
		out[id] = Place{session, "TestFoldersOfASession"}
	}
	return out
}
