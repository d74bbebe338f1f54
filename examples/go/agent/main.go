// What an agent does: variables that live between calls, output as it comes, a fork to try something, and an error by its code.
package main

import (
	"context"
	"errors"
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
	box, err := sandbox.Create(ctx, &sandbox.CreateOptions{Image: "python"})
	if err != nil {
		return err
	}
	defer box.Close()

	if _, err := box.RunCode(ctx, "total = 40", nil); err != nil {
		return err
	}
	answer, err := box.RunCode(ctx, "total + 2", nil)
	if err != nil {
		return err
	}
	fmt.Println("context:", answer.Text)

	output, err := box.ExecStream(ctx, "for i in 1 2 3; do echo step $i; done", nil)
	if err != nil {
		return err
	}
	defer output.Close()
	for output.Next() {
		if event := output.Event(); event.Type == "exit" {
			fmt.Println("exit code", event.Data)
		} else {
			fmt.Print(event.Data)
		}
	}
	if err := output.Err(); err != nil {
		return err
	}

	if err := box.Filesystem.Write(ctx, "/workspace/plan", "original"); err != nil {
		return err
	}
	attempts, err := box.Fork(ctx, nil)
	if err != nil {
		return err
	}
	defer attempts[0].Close()
	if err := attempts[0].Filesystem.Write(ctx, "/workspace/plan", "changed"); err != nil {
		return err
	}
	plan, err := box.Filesystem.Read(ctx, "/workspace/plan")
	if err != nil {
		return err
	}
	fmt.Println("after the fork:", plan)

	_, err = box.Filesystem.Read(ctx, "/workspace/missing")
	if !errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("unexpected: %w", err)
	}
	fmt.Println("missing:", sandbox.ErrNotFound)
	return nil
}
