package onwazero

// noReserve is nothing: FreeBSD counts no memory before it is used, unless it is
// told to (vm.overcommit).
const noReserve = 0
