module iii.invalid/sandbox

go 1.19
