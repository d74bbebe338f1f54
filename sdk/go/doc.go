// Package sandbox is the client of an iii-sandbox server: isolated sandboxes for untrusted code.
//
//	box, err := sandbox.Create(ctx, nil) // the server of III_SANDBOX_URL, with the token of III_SANDBOX_TOKEN
//	if err != nil {
//		return err
//	}
//	defer box.Close()
//	result, err := box.Exec(ctx, "echo hello", nil)
//
// [Create], [Connect] and [ConnectOrCreate] use the environment; [NewClient] takes its settings from a [Config]. A [Sandbox] has
// what belongs to one sandbox, a [Client] what belongs to the server, and an [API] every operation under its own name.
//
// Options are structs, and nil stands for none. Numbers that may be absent are pointers: [Int], [Number] and [Bool] make them.
// Everything may be used by several goroutines at once, but for streams and terminals, which belong to one.
package sandbox
