// Package toolschema reads what mur itself takes from a tool's input_schema: the
// names a call must have, and the annotations that say which of its values are
// paths the tool writes (docs/spec/manifest.md section 14.4).
//
// It promises that a schema can only add checks: what can not be read gives no
// annotation and no required name, and says so. It validates nothing else of a
// call, follows no $ref, and looks at no file. mur-stage reads annotations into
// the staged-session document; mur-launch checks calls.
package toolschema
