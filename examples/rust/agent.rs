//! What an agent does: variables that live between calls, streamed output, a fork to try something, and an error by its code.

use futures_util::StreamExt;
use iii_sandbox::{create_sandbox, ClientConfig, ContextCreateOptions, ErrorCode, Result, SandboxCreateOptions};

#[tokio::main]
async fn main() -> Result<()> {
    let config = ClientConfig {
        base_url: std::env::var("III_SANDBOX_URL").unwrap_or_else(|_| "http://localhost:3111".into()),
        token: std::env::var("III_SANDBOX_TOKEN").ok(),
        ..Default::default()
    };
    let options = SandboxCreateOptions { image: Some("python".into()), ..Default::default() };
    let sandbox = create_sandbox(options, Some(config)).await?.guard();

    let context = sandbox.contexts.create(ContextCreateOptions::default()).await?;
    sandbox.contexts.execute(&context.id, "total = 40", Default::default()).await?;
    let result = sandbox.contexts.execute(&context.id, "total + 2", Default::default()).await?;
    println!("context: {}", result.results[0].data);

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
