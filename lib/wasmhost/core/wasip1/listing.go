package wasip1

// listing is how far a guest has read a directory.
type listing struct{}
