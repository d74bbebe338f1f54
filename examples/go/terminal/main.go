// A shell with live input and output.
package main

import (
	"context"
	"fmt"
	"io"
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
	defer box.Close()

	terminal, err := box.Terminal.Open(ctx, &sandbox.TerminalCreateOptions{Cols: sandbox.Int(100), Rows: sandbox.Int(30)})
	if err != nil {
		return err
	}
	defer terminal.Close()
	fmt.Fprintln(terminal, "stty size; echo $((6 * 7)) is the answer")
	if _, err := terminal.ReadUntil("42 is the answer"); err != nil {
		return err
	}
	if err := terminal.Resize(132, 43); err != nil {
		return err
	}
	fmt.Fprintln(terminal, "stty size; exit 5")
	if _, err := io.Copy(io.Discard, terminal); err != nil {
		return err
	}
	fmt.Println("the shell ended with", terminal.End().ExitCode)
	return nil
}
