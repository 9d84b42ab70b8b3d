//go:build web

package main

import (
	"fmt"
	"io"
	"net/http"

	"github.com/mur-capsules/mur/lib/guest/guesthttp"
)

func init() {
	get = func(url string) (string, error) {
		resp, err := (&http.Client{Transport: guesthttp.Transport{}}).Get(url)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(body)), err
	}
}
