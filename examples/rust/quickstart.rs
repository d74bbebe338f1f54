//! Create a sandbox, run a command, write and read a file, run Python. Needs a server: `III_SANDBOX_URL`, `III_SANDBOX_TOKEN`.

use iii_sandbox::{create_sandbox, ClientConfig, Result, SandboxCreateOptions};

fn config() -> ClientConfig {
    let mut config = ClientConfig::default();
    if let Ok(url) = std::env::var("III_SANDBOX_URL") {
        config.base_url = url;
    }
    config.token = std::env::var("III_SANDBOX_TOKEN").ok();
    config
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = SandboxCreateOptions { image: Some("python".into()), ..Default::default() };
    // Killed at the end of the scope, also when a call below fails.
    let sandbox = create_sandbox(options, Some(config())).await?.guard();

    let result = sandbox.exec("echo hello; exit 3", None).await?;
    println!("{:?} {}", result.stdout, result.exit_code);

    sandbox.filesystem.write("/workspace/note.txt", "kept\n").await?;
    print!("{}", sandbox.filesystem.read("/workspace/note.txt").await?);

    let answer = sandbox.interpreter.run("print(sum(range(101)))", None).await?;
    print!("{}", answer.output);

    sandbox.close().await
}
