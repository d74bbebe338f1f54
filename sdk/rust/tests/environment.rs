//! Settings from the environment, and that no text shows the token. A program of its own: it changes its environment.

use iii_sandbox::*;

const SECRET: &str = "tok-3f9a";

#[test]
fn the_environment_counts_unless_something_is_given() {
    for (name, value) in
        [("III_SANDBOX_URL", ""), ("III_SANDBOX_TOKEN", ""), ("III_AUTH_TOKEN", ""), ("III_CA_CERT", "")]
    {
        std::env::set_var(name, value);
    }
    let plain = ClientConfig::default();
    assert_eq!((plain.base_url.as_str(), plain.token, plain.ca_file), ("http://localhost:3111", None, None));
    std::env::set_var("III_SANDBOX_URL", "http://127.0.0.1:1/");
    std::env::set_var("III_AUTH_TOKEN", "other");
    assert_eq!(ClientConfig::default().token.as_deref(), Some("other"));
    std::env::set_var("III_SANDBOX_TOKEN", SECRET);
    let config = ClientConfig { max_retries: 0, ..Default::default() };
    assert_eq!((config.base_url.as_str(), config.token.as_deref()), ("http://127.0.0.1:1/", Some(SECRET)));
    nothing_shows_the_token(config);
}

fn nothing_shows_the_token(config: ClientConfig) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let api = Api::connect(config.clone()).unwrap();
    let refused = runtime.block_on(api.open("sbx_1")).unwrap_err();
    let odd = ClientConfig { token: Some(format!("{SECRET}\n")), ..config.clone() };
    let unsent = runtime.block_on(Api::connect(odd).unwrap().open("sbx_1")).unwrap_err();
    let with_user = ClientConfig { base_url: format!("http://user:{SECRET}@localhost"), ..config.clone() };
    let in_url = Api::connect(with_user.clone()).unwrap_err();
    let texts = [
        format!("{config:?} {config:#?}"),
        format!("{with_user:?}"),
        format!("{api:?} {:?}", api.http()),
        format!("{refused} {refused:?} {refused:#?}"),
        format!("{unsent} {unsent:?}"),
        format!("{in_url} {in_url:?}"),
    ];
    for text in &texts {
        assert!(!text.contains(SECRET), "{text}");
    }
    for part in ["http://127.0.0.1:1/sandbox/sandboxes/sbx_1", "refused", "`iii serve` starts one", "III_SANDBOX_URL"] {
        assert!(texts[3].contains(part), "{} does not say {part}", texts[3]);
    }
}
