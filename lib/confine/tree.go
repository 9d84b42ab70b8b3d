package confine

// Tree is a kind of file tree, by what commands may do in it. Which rights of the
// kernel that is, confine/landlock says.
type Tree string

// The kinds of trees, in the order of CON-63, CON-66, CON-144 and CON-160.
const (
	WorkFolder  Tree = "work-folder"  // the work folder, the session's tmp and home
	RuntimeDir  Tree = "runtime-dir"  // read and list: runtime directory, logs, children
	ExecFile    Tree = "exec-file"    // a file of the exec closure
	ExecDir     Tree = "exec-dir"     // interpreter_runtime with list_dir false
	ExecListDir Tree = "exec-list"    // interpreter_runtime with list_dir true
	ReadTree    Tree = "read-tree"    // derived directory, trust store, host_paths, runtime trees, /etc entries, /proc
	DeviceRead  Tree = "device-read"  // /dev/zero, /dev/urandom
	DeviceWrite Tree = "device-write" // /dev/null
	Terminals   Tree = "terminals"    // /dev/pts of a composed root, and the requests that make a terminal
)
