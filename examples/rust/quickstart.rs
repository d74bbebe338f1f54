//! Create a sandbox, run a command, write and read a file, run Python. Needs a server: `III_SANDBOX_URL`, `III_SANDBOX_TOKEN`.

use iii_sandbox::{Result, Sandbox};

#[tokio::main]
async fn main() -> Result<()> {
    // Killed at the end of the scope, also when a call below fails.
    let sandbox = Sandbox::create("python").await?.guard();

    let result = sandbox.command("echo hello; exit 3").await?;
    println!("{:?} {}", result.stdout, result.exit_code);

    sandbox.filesystem.write("/workspace/note.txt", "kept\n").await?;
    print!("{}", sandbox.filesystem.read("/workspace/note.txt").await?);

    let answer = sandbox.run_code("sum(range(101))").await?;
    println!("{}", answer.text.unwrap_or_default());

    sandbox.close().await
}
