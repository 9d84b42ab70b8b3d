// Command check enforces the rules of the house that the compiler does not:
// who may import whom, that requirement ids cited in code exist in docs/spec, that
// every probe and acceptance row is named by what tries it, and that every
// diagnostic code in the source is in the table of lib/diag.
// It prints one line for each breach and exits 1 when there is any.
package main

import (
	"fmt"
	"os"
)

func main() {
	root, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var breaches []string
	for _, check := range []func(root string) ([]string, error){checkImports, checkIDs, checkRows, checkCodes} {
		found, err := check(root)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		breaches = append(breaches, found...)
	}
	for _, b := range breaches {
		fmt.Println(b)
	}
	if len(breaches) > 0 {
		os.Exit(1)
	}
}
