//! What an agent does: variables that live between calls, streamed output, a fork to try something, and an error by its code.

use futures_util::StreamExt;
use iii_sandbox::{ErrorCode, Result, Sandbox};

#[tokio::main]
async fn main() -> Result<()> {
    let sandbox = Sandbox::create("python").await?.guard();

    sandbox.run_code("total = 40").await?;
    println!("context: {}", sandbox.run_code("total + 2").await?.text.unwrap_or_default());

    let mut output = sandbox.exec_stream("for i in 1 2 3; do echo step $i; done").await?;
    while let Some(event) = output.next().await {
        let event = event?;
        let data = event.data.unwrap_or_default();
        match event.r#type.as_str() {
            "exit" => println!("exit code {data}"),
            _ => print!("{data}"),
        }
    }

    sandbox.filesystem.write("/workspace/plan", "original").await?;
    let attempt = sandbox.fork(1, None).await?.remove(0).guard();
    attempt.filesystem.write("/workspace/plan", "changed").await?;
    println!("after the fork: {}", sandbox.filesystem.read("/workspace/plan").await?);
    attempt.close().await?;

    match sandbox.filesystem.read("/workspace/missing").await {
        Err(e) if e.code() == Some(ErrorCode::NotFound) => println!("missing: {}", e.code().unwrap().as_str()),
        other => println!("unexpected: {other:?}"),
    }
    sandbox.close().await
}
