// Package examples tests that what people copy works: the capsules below this
// folder and the commands of docs/guides.
package examples
