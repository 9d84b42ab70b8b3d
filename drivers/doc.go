// Package drivers tests the drivers below this folder as the runtime runs them:
// built once, called in the engine, against providers that answer as the real
// ones do and fail as they do.
package drivers
