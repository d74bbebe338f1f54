use iii_sandbox::{Result, Sandbox};

#[tokio::main]
async fn main() -> Result<()> {
    let sandbox = Sandbox::create("python").await?.guard(); // killed at the end of the scope
    let result = sandbox.exec("echo hello; exit 3", None).await?;
    print!("{}{}", result.stdout, result.exit_code);
    sandbox.close().await
}
