// Package box composes the root of a sealed worker (CON section 11): a file
// system that holds the fixed runtime trees, a few entries of /etc, a small
// /dev, a private /proc and what the session grants, and nothing else. It is one
// libcontainer container per worker, whose pid 1 is the worker; the worker
// restricts itself inside (package worker) with the code it uses outside.
//
// Layout decides what is mounted where and is pure; Start carries it out. The
// package never decides what is granted, and a root that can not be built is
// never replaced by a weaker one (CON-165).
package box
