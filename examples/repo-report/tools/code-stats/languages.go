package main

import (
	"path"
	"strings"
)

// languages maps an extension to the language it stands for.
var languages = map[string]string{
	".c": "C", ".h": "C",
	".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".hh": "C++",
	".cs":  "C#",
	".css": "CSS", ".scss": "CSS",
	".go":   "Go",
	".html": "HTML", ".htm": "HTML",
	".java": "Java",
	".js":   "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript", ".jsx": "JavaScript",
	".json": "JSON",
	".kt":   "Kotlin",
	".lua":  "Lua",
	".md":   "Markdown",
	".php":  "PHP",
	".pl":   "Perl",
	".py":   "Python",
	".rb":   "Ruby",
	".rs":   "Rust",
	".sh":   "Shell", ".bash": "Shell",
	".sql":   "SQL",
	".swift": "Swift",
	".toml":  "TOML",
	".ts":    "TypeScript", ".tsx": "TypeScript",
	".txtar": "Test script",
	".wat":   "WebAssembly text",
	".wit":   "WIT",
	".yaml":  "YAML", ".yml": "YAML",
	".zig": "Zig",
}

// byFileName holds the few files whose whole name tells.
var byFileName = map[string]string{
	"Dockerfile": "Dockerfile",
	"Makefile":   "Makefile",
	"go.mod":     "Go module",
	"go.work":    "Go module",
}

// languageOf returns "" for what is not source code.
func languageOf(name string) string {
	if l := byFileName[path.Base(name)]; l != "" {
		return l
	}
	return languages[strings.ToLower(path.Ext(name))]
}
