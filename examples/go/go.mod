module iii.invalid/examples

go 1.19

require iii.invalid/sandbox v0.0.0

// The package is on no public proxy: this is where it is.
replace iii.invalid/sandbox => ../../sdk/go
