package wasip1

// dir is a granted directory.
type dir struct{ Dir }
