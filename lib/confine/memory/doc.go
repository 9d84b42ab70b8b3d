// Package memory keeps the memory of a process that holds credentials from the
// commands of its user (CON-118).
package memory
