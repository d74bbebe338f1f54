use iii_sandbox::{create_sandbox, ClientConfig, Result, SandboxCreateOptions};

#[tokio::main]
async fn main() -> Result<()> {
    let mut config = ClientConfig { token: std::env::var("III_SANDBOX_TOKEN").ok(), ..Default::default() };
    if let Ok(url) = std::env::var("III_SANDBOX_URL") {
        config.base_url = url; // default: http://localhost:3111
    }
    let options = SandboxCreateOptions { image: Some("python".into()), ..Default::default() };
    let sandbox = create_sandbox(options, Some(config)).await?.guard();
    let result = sandbox.exec("echo hello; exit 3", None).await?;
    print!("{}{}", result.stdout, result.exit_code);
    sandbox.close().await
}
