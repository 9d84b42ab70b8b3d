module github.com/mur-capsules/mur/examples

go 1.26.0
