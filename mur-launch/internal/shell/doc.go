// Package shell is mur-launch's side of mur-shell serve (docs/spec/shell.md
// section 2): it starts the one mur-shell of a session, speaks its protocol, and
// turns its answers into what a tool call, a script capsule and the trace get.
//
// It promises that each request has exactly one answer, whatever becomes of
// mur-shell; that mur-shell gets no variable a credential could be in; that every
// name beneath the records directory is chosen and made here, beneath the held
// root, and what commands print goes to descriptors alone (SHL-69); and that what
// mur-shell calls fatal ends the session.
//
// It decides nothing about what a command may do: that is staged, and mur-shell
// takes it from the document.
package shell
