package main

import (
	"context"
	"fmt"
	"log"

	"iii.invalid/sandbox"
)

func main() {
	ctx := context.Background()
	box, err := sandbox.Create(ctx, &sandbox.CreateOptions{Image: "python"})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close() // kills it

	result, err := box.Exec(ctx, "echo hello; exit 3", nil)
	if err != nil {
		log.Panic(err) // unlike Fatal, it runs what is deferred
	}
	fmt.Print(result.Stdout, result.ExitCode, "\n")
}
