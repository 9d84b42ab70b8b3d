// Package terms settles on what terms a command runs: from a staged-session
// document, which it only compares with the host, or without one from a policy
// file and flags, with the checks, codes and order of staging (SHL section 12).
// The result is a plan and everything a room needs to carry it out. Settling
// starts no command of a capsule; it asks interpreters where their modules are.
package terms
