module github.com/mur-capsules/mur/drivers

go 1.26.0
