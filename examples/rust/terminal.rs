//! A shell with live input and output.

use iii_sandbox::{create_sandbox, ClientConfig, Result, SandboxCreateOptions, TerminalCreateOptions};

#[tokio::main]
async fn main() -> Result<()> {
    let config = ClientConfig {
        base_url: std::env::var("III_SANDBOX_URL").unwrap_or_else(|_| "http://localhost:3111".into()),
        token: std::env::var("III_SANDBOX_TOKEN").ok(),
        ..Default::default()
    };
    let options = SandboxCreateOptions { image: Some("python".into()), ..Default::default() };
    let sandbox = create_sandbox(options, Some(config)).await?.guard();

    let size = TerminalCreateOptions { cols: Some(100), rows: Some(30), ..Default::default() };
    let mut terminal = sandbox.terminal.open(size).await?;
    terminal.send("stty size; echo $((6 * 7)) is the answer\n").await?;
    terminal.read_until("42 is the answer").await?;
    terminal.resize(132, 43).await?;
    terminal.send("stty size; exit 5\n").await?;
    while terminal.read().await?.is_some() {}
    println!("{:?}", terminal.end());

    sandbox.close().await
}
