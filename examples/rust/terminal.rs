//! A shell with live input and output.

use iii_sandbox::{Result, Sandbox, TerminalCreateOptions};

#[tokio::main]
async fn main() -> Result<()> {
    let sandbox = Sandbox::create("python").await?.guard();

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
