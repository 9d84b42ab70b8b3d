// Package conformance holds one suite of tests that runs the same guest as a core
// module and as a component, the core module on every engine that can run one, and
// asks for the same results, faults and codes (WIT-65). It has no code of its own.
//
// The guest is one C program (testdata/src); the modules made of it are checked
// in. Where the two forms can not be the same, because of what the forms are,
// the tests say so in place:
//
//   - a tool command answers on standard output, so one that floods it or exits
//     with status 0 without an answer has a bad result, while a component's
//     output is only its log: it runs into its deadline, or has exited;
//   - a component's exit knows success and failure only, so every other status
//     arrives as 1;
//   - outside a task, request-input answers "not available" to a core module and
//     ends a component, whose function has no error case (WIT-28, WIT-44);
//   - a core module sees PWD=/ and its folders as / and /state.
package conformance
