// Create a sandbox, run a command, write and read a file, run Python. Needs a server: III_SANDBOX_URL, III_SANDBOX_TOKEN.
package main

import (
	"context"
	"fmt"
	"log"

	"iii.invalid/sandbox"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	box, err := sandbox.Create(ctx, nil)
	if err != nil {
		return err
	}
	defer box.Close() // also when a call below fails

	result, err := box.Exec(ctx, "echo hello; exit 3", nil)
	if err != nil {
		return err
	}
	fmt.Printf("%q %d\n", result.Stdout, result.ExitCode)

	if err := box.Filesystem.Write(ctx, "/workspace/note.txt", "kept\n"); err != nil {
		return err
	}
	note, err := box.Filesystem.Read(ctx, "/workspace/note.txt")
	if err != nil {
		return err
	}
	fmt.Print(note)

	answer, err := box.RunCode(ctx, "sum(range(101))", nil)
	if err != nil {
		return err
	}
	fmt.Println(answer.Text)
	return nil
}
